/** What `postern up` demands of the paths of a service before it changes anything. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requireReadable } from "./server-service.ts";

const usual = {
  program: ["/usr/bin/node", "/opt/postern/bin/postern.js"],
  config: "/etc/postern/postern.yaml",
  data: "/var/lib/postern",
};

describe("postern up with a service", () => {
  for (const [name, facts, path] of [
    ["Node.js", { program: ["/root/.nvm/node", "/opt/postern/bin/postern.js"] }, "/root/.nvm/node"],
    ["Postern", { program: ["/usr/bin/node", "/home/ann/postern/bin/postern.js"] }, "/home/ann/postern/bin/postern.js"],
    ["the configuration file", { config: "/home/ann/postern.yaml" }, "/home/ann/postern.yaml"],
    ["the data directory", { data: "/root" }, "/root"],
  ] as const) {
    it(`postern up refuses a service if ${name} is in a home directory`, () => {
      assert.throws(
        () => requireReadable({ ...usual, ...facts }, undefined),
        ({ message }: Error) =>
          message.startsWith(`the service cannot read "${path}", because it runs as the user postern`),
      );
    });
  }

  it("postern up accepts other directories, also with a similar name", () => {
    requireReadable(
      { ...usual, program: ["/homebrew/node", "/rooted/postern.js"], data: "/srv/home/postern" },
      undefined,
    );
  });

  it("postern up with the unit of a package accepts the package's paths only", () => {
    const unit = "/usr/lib/systemd/system/postern.service";
    requireReadable(usual, unit);
    for (const other of [{ config: "/etc/other.yaml" }, { data: "/srv/postern" }]) {
      assert.throws(() => requireReadable({ ...usual, ...other }, unit), /leave out --file and --data/);
    }
  });
});
