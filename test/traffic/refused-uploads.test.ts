/** curl uploads to a service behind an agent that answers before it has read the upload. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { uploadRefused } from "../support/refused-upload.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("uploads that a service refuses", { skip: skipWithout("curl"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  let url: string;
  before(async () => {
    service = await startHttpService((_request, response) => void response.writeHead(413).end("too much"));
    platform = await startPlatform({ drainMs: 50 });
    ({ url } = await platform.startAgent({ upstream: service.port }));
  });
  after(async () => {
    await platform.stop();
    await service.stop();
  });

  for (const version of ["--http1.1", "--http2"]) {
    it(`curl ${version} receives the whole answer of a service that refuses 3 MiB: 20 of 20`, async () => {
      const seen = await uploadRefused(20, { url: `${url}/`, byteCount: 3 * 1024 * 1024, options: [version] });
      assert.deepEqual(seen, Array<string>(20).fill("too much 413 0"));
    });
  }
});
