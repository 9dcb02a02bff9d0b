/** Paths of curl requests reach a service behind `postern http` unchanged. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, it } from "node:test";
import { join } from "node:path";
import { promisify } from "node:util";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { skipWithout } from "../support/programs.ts";

const run = promisify(execFile);
/** A presigned URL, GitLab, npm, RabbitMQ, a name in Latin-1. */
const targets = [
  "/bucket/a%2Bb%3A%7E%28x%29|?X-Amz-Signature=%2F",
  "/api/v4/projects/group%2Fproject",
  "/@scope%2fname",
  "/api/queues/%2F/orders",
  "/caf%E9",
];

let platform: TestPlatform;
let service: HttpService;
let url: string;
before(async () => {
  service = await startHttpService((request, response) => void response.end(request.url));
  platform = await startPlatform({ drainMs: 50 });
  ({ url } = await platform.startAgent({ upstream: service.port }));
});
after(async () => {
  await platform.stop();
  await service.stop();
});

async function curl(path: string, ...more: readonly string[]): Promise<string> {
  const options = ["-sS", "--fail", "--globoff", "--path-as-is", "--cacert", join(platform.directory, "ca.pem")];
  return (await run("curl", [...options, ...more, `${url}${path}`])).stdout;
}

for (const version of ["--http1.1", "--http2"]) {
  it(
    `curl ${version} reaches a service with encoded slashes and signed URLs as they are`,
    { skip: skipWithout("curl") },
    async () => {
      for (const target of targets) assert.equal(await curl(target, version), target);
      assert.equal(await curl("/a/../b%2Fc", version), "/b%2Fc");
    },
  );

  it(
    `curl ${version} may name port 443 where the public port is forwarded and not set`,
    { skip: skipWithout("curl") },
    async () => {
      assert.equal(await curl("/", version, "-H", `Host: ${new URL(url).hostname}:443`), "/");
    },
  );
}
