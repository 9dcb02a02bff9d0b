/** The cluster of `deploy/compose.cluster.yaml`, from this checkout. `test/packages` starts it from the image. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { skipWithoutCluster, stopServerOfCluster } from "../support/compose-cluster.ts";

describe("the cluster of deploy/compose.cluster.yaml", { timeout: 120_000, skip: skipWithoutCluster }, () => {
  const folder = mkdtempSync(join(tmpdir(), "compose-cluster-"));
  after(() => rmSync(folder, { recursive: true }));

  it("S5: the Compose cluster serves an agent's URL through the balancer, and loses no request while a server drains and stops", (test) =>
    stopServerOfCluster(test, { folder }));
});
