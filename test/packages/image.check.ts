/**
 * The image of a release as a container: its own user, a read-only root, and one volume. Ordinary runtimes need rights
 * that a test machine lacks, so buildah runs it with chroot.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { imagePath } from "../../scripts/release/image.ts";
import { version } from "../../scripts/release/paths.ts";
import { dataFiles } from "../../src/cli/data/data-files.ts";
import { freePort } from "../support/connections.ts";
import { askOver, protocols } from "../support/http-client.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { startHttpService } from "../support/services.ts";
import { built, skipWithoutPackaging } from "./artifacts.ts";

const platform = "linux-x64";
const skip = skipWithoutPackaging("buildah", "root");

/** Mounts the container's root read-only, in a mount namespace that ends with the command. */
const start = `set -e
root=$(buildah mount "$CONTAINER")
mkdir -p "$root/run" && touch "$root/run/.containerenv"
mount -o remount,ro "$root"
exec buildah run --isolation chroot "$@"`;

describe("the image of a release", { timeout: 300_000, skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-image-"));
  const env = { ...process.env, CONTAINER: "postern", STORAGE_DRIVER: "vfs", BUILDAH_ISOLATION: "chroot" };
  const places = ["--root", join(directory, "storage"), "--runroot", join(directory, "run")];
  const buildah = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync("buildah", [...places, ...args], { env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  before(() => {
    buildah("from", "--name", "postern", `oci-archive:${built(imagePath(platform))}`);
  });
  after(() => {
    buildah("rm", "--all");
    rmSync(directory, { recursive: true, force: true });
  });

  it("the image names its version, user, volume, ports and command", () => {
    const { config } = (JSON.parse(buildah("inspect", "postern")) as { readonly OCIv1: { readonly config: Config } })
      .OCIv1;
    assert.equal(config.Labels["org.opencontainers.image.version"], version);
    assert.match(config.Labels["org.opencontainers.image.revision"] ?? "", /^[0-9a-f]{40}$/);
    const { User, Entrypoint, Cmd, Volumes } = config;
    assert.deepEqual(
      { User, Entrypoint, Cmd, Volumes },
      { User: "65532:65532", Entrypoint: ["/usr/bin/postern"], Cmd: ["serve"], Volumes: { "/data": {} } },
    );
  });

  it("X2: the image serves a request as an unprivileged user on a read-only root and stops on SIGTERM", async (test) => {
    const apiPort = await freePort();
    const settings = {
      POSTERN_API_LISTEN: `127.0.0.1:${apiPort}`,
      POSTERN_HTTPS_LISTEN: "127.0.0.1:0",
      POSTERN_AGENT_LISTEN: "127.0.0.1:0",
      POSTERN_DRAIN_DELAY: "0",
    };
    const variables = Object.entries(settings).map(([name, value]) => `--env=${name}=${value}`);
    const run = [
      "--mount",
      "sh",
      "-c",
      start.replaceAll("buildah", `buildah ${places.join(" ")}`),
      "sh",
      ...variables,
      "postern",
      "--",
      "/usr/bin/postern",
      "serve",
      "--json",
    ];
    const server = spawn("unshare", run, { env, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(server, "close");
    const [line] = (await Promise.race([once(server.stdout, "data"), ended])) as [Buffer];
    const {
      https_port: httpsPort,
      agent_port: port,
      authtoken: token,
    } = JSON.parse(line.toString()) as {
      readonly https_port: number;
      readonly agent_port: number;
      readonly authtoken: string;
    };
    const pid = containerProcess();
    test.after(() => server.exitCode === null && process.kill(pid, "SIGKILL"));
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    assert.match(status, /^Uid:\t65532\t65532\t65532\t65532$/m);
    assert.match(status, /^CapEff:\t0{16}$/m);
    assert.match(readFileSync(`/proc/${pid}/mountinfo`, "utf8"), / \/ \/ ro[, ]/);

    const ca = readFileSync(`/proc/${pid}/root/data/ca.pem`, "utf8");
    const service = await startHttpService((_request, response) => response.end("served"));
    test.after(() => service.stop());
    const agent = await startOurAgent({ port, ca, token }, { upstream: service.port, url: "https://app.localhost" });
    test.after(() => agent.close());
    for (const protocol of protocols) {
      const { status: code, text } = await askOver(protocol, httpsPort, ca, { host: "app.localhost" });
      assert.deepEqual([code, text], [200, "served"]);
    }
    const user = ["--userspec=65532:65532", `/proc/${pid}/root`, "/usr/bin/postern"];
    const health = spawnSync("chroot", [...user, "health"], { env: { ...process.env, ...settings }, encoding: "utf8" });
    assert.deepEqual([health.status, health.stdout], [0, "ready\n"], health.stderr);

    process.kill(pid, "SIGTERM");
    await ended;
    // A server that stops removes the file by which commands find it.
    const [volume = ""] = globSync(join(directory, "storage/**", dataFiles.caCertificate)).map((file) => dirname(file));
    assert.ok(existsSync(join(volume, dataFiles.caCertificate)));
    assert.ok(!existsSync(join(volume, dataFiles.server)));
  });
});

interface Config {
  readonly [name: string]: unknown;
  readonly Labels: Readonly<Record<string, string>>;
}

/** Returns the process whose program is the executable inside the container. */
function containerProcess(): number {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`).endsWith("/usr/bin/postern");
      } catch {
        // The process has ended, or belongs to another user.
        return false;
      }
    });
  assert.ok(found !== undefined, "no process runs /usr/bin/postern");
  return Number(found);
}
