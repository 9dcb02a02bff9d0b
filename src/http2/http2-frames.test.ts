import assert from "node:assert/strict";
import { constants } from "node:http2";
import { describe, it } from "node:test";
import { defaultWindow, errorCode, flag, maxFrameBytes, setting } from "./http2-frames.ts";

describe("the numbers of HTTP/2", () => {
  it("the numbers of HTTP/2 match those of Node", () => {
    const known = (names: Readonly<Record<string, string>>): Record<string, number> =>
      Object.fromEntries(Object.entries(names).map(([name, theirs]) => [name, constants[theirs as "NGHTTP2_CANCEL"]]));
    const { noPriorities, ...settings } = setting;
    assert.equal(noPriorities, 9, "RFC 9218 §2.1, of which Node knows nothing");
    assert.deepEqual(
      { ...settings },
      known({
        headerTableSize: "NGHTTP2_SETTINGS_HEADER_TABLE_SIZE",
        enablePush: "NGHTTP2_SETTINGS_ENABLE_PUSH",
        maxConcurrentStreams: "NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS",
        initialWindowSize: "NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE",
        maxFrameSize: "NGHTTP2_SETTINGS_MAX_FRAME_SIZE",
        maxHeaderListSize: "NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE",
        enableConnectProtocol: "NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL",
      }),
    );
    assert.deepEqual(
      { ...errorCode },
      known({
        noError: "NGHTTP2_NO_ERROR",
        protocolError: "NGHTTP2_PROTOCOL_ERROR",
        internalError: "NGHTTP2_INTERNAL_ERROR",
        flowControlError: "NGHTTP2_FLOW_CONTROL_ERROR",
        streamClosed: "NGHTTP2_STREAM_CLOSED",
        frameSizeError: "NGHTTP2_FRAME_SIZE_ERROR",
        refusedStream: "NGHTTP2_REFUSED_STREAM",
        cancel: "NGHTTP2_CANCEL",
        compressionError: "NGHTTP2_COMPRESSION_ERROR",
        enhanceYourCalm: "NGHTTP2_ENHANCE_YOUR_CALM",
      }),
    );
    assert.deepEqual(
      { ...flag },
      known({
        endStream: "NGHTTP2_FLAG_END_STREAM",
        ack: "NGHTTP2_FLAG_ACK",
        endHeaders: "NGHTTP2_FLAG_END_HEADERS",
        padded: "NGHTTP2_FLAG_PADDED",
        priority: "NGHTTP2_FLAG_PRIORITY",
      }),
    );
    assert.equal(defaultWindow, constants.DEFAULT_SETTINGS_INITIAL_WINDOW_SIZE);
    assert.equal(maxFrameBytes, constants.DEFAULT_SETTINGS_MAX_FRAME_SIZE);
  });
});
