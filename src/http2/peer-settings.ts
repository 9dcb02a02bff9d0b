import { defaultWindow, errorCode, maxWindow, putUint32, setting, maxFrameBytes } from "./http2-frames.ts";

/** The default dynamic table size, which needs no announcement (RFC 7541 §4.2). */
const defaultTableBytes = 4096;

/** The client's SETTINGS, as far as the server uses them. */
export class PeerSettings {
  /** Initial window of new streams towards the client. */
  initialWindow = defaultWindow;
  /** The client reduced its table below the default. The next header block must announce that no table is used. */
  tableShrunk = false;

  /** Applies a payload of complete entries. Returns the code of the connection error, or 0 (RFC 9113 §6.5.2). */
  read(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at += 6) {
      const fault = this.#apply(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
      if (fault !== 0) return fault;
    }
    return 0;
  }

  #apply(id: number, value: number): number {
    switch (id) {
      case setting.headerTableSize:
        if (value < defaultTableBytes) this.tableShrunk = true;
        return 0;
      case setting.enablePush:
      case setting.enableConnectProtocol:
        return value > 1 ? errorCode.protocolError : 0;
      case setting.maxFrameSize:
        return value < maxFrameBytes || value > 0xff_ffff ? errorCode.protocolError : 0;
      case setting.initialWindowSize:
        if (value > maxWindow) return errorCode.flowControlError;
        this.initialWindow = value;
        return 0;
      default:
        return 0;
    }
  }
}

/** Encodes a SETTINGS payload. */
export function renderSettings(pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  let at = 0;
  for (const [id, value] of pairs) {
    payload.writeUInt16BE(id, at);
    at = putUint32(payload, at + 2, value);
  }
  return payload;
}
