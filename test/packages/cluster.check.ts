/** The three servers of `deploy/compose.cluster.yaml` as plain processes in the root of the released image, as its user. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { imagePath, run } from "../../scripts/release/image.ts";
import { user } from "../../scripts/release/image/base-root.ts";
import { skipWithoutCluster, stopServerOfCluster } from "../support/compose-cluster.ts";
import { built, skipWithoutPackaging } from "./artifacts.ts";

describe(
  "the cluster of deploy/compose.cluster.yaml in the released image",
  { timeout: 300_000, skip: skipWithoutPackaging("root") || skipWithoutCluster },
  () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-image-root-"));
    const root = join(folder, "root");
    before(() => {
      const unpack = (archive: string, into: string): void => {
        mkdirSync(into, { recursive: true });
        execFileSync("tar", ["--extract", "--file", archive, "--directory", into]);
      };
      const layout = join(folder, "layout");
      unpack(built(imagePath("linux-x64")), layout);
      const [image] = JSON.parse(readFileSync(join(layout, "manifest.json"), "utf8")) as [
        { readonly Layers: string[] },
      ];
      for (const layer of image.Layers) unpack(join(layout, layer), root);
    });
    after(() => rmSync(folder, { recursive: true }));

    it("the cluster of deploy/compose.cluster.yaml in the released image serves an agent's URL through the balancer, and loses no request while a server drains and stops", (test) => {
      const command = ["/usr/sbin/chroot", `--userspec=${run.User}`, root, ...run.Entrypoint];
      return stopServerOfCluster(test, { command, root, folder: "data", user });
    });
  },
);
