/** Checks the recipe "add a setting" of CONTRIBUTING.md: a declaration and its reader, and nothing in between. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { controlPlaneSettings } from "../src/settings/control-plane.ts";
import { edgeSettings } from "../src/settings/edge.ts";
import { placeSettings } from "../src/settings/places.ts";
import { defaultsOf, flagOf, keyOf, sliceOf, variableOf } from "../src/settings/setting.ts";
import type { Setting } from "../src/settings/setting.ts";
import { settings } from "../src/settings/settings.ts";

const sources = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
const textOf = new Map(sources.map((file) => [file, readFileSync(file, "utf8")]));

/** Returns files of src/ that begin with `folder` and name the setting. */
function filesNaming(name: string, folder: string): readonly string[] {
  const word = new RegExp(`\\b${name}\\b`);
  // A command with another default names the setting only for the default.
  const withoutDefaults = (text: string): string => text.replaceAll(/\w+: withDefault\(settings\.\w+/g, "");
  return sources.filter((file) => file.startsWith(folder) && word.test(withoutDefaults(textOf.get(file) ?? "")));
}

const ofPlanes = Object.keys({ ...controlPlaneSettings, ...edgeSettings }).filter((name) => !(name in placeSettings));

/** Files of src/settings that each folder may import, besides the vocabulary. The command line may import all. */
const slices: Readonly<Record<string, readonly string[]>> = {
  backtest: ["webhooks.ts"],
  traffic: ["webhooks.ts"],
  modules: ["webhooks.ts"],
  storage: ["storage.ts"],
  api: ["control-plane.ts", "both-planes.ts", "acme.ts", "events.ts"],
  edge: ["edge.ts"],
};

describe("a setting of a plane", () => {
  it("a setting of a plane is declared in one file", () => {
    const faults = ofPlanes.filter(
      (name) =>
        sources.filter((file) => file.startsWith("src/settings/") && textOf.get(file)?.includes(`\n  ${name}: `))
          .length !== 1,
    );
    assert.ok(ofPlanes.length > 20);
    assert.deepEqual(faults, []);
  });

  it("a setting of a plane is named by the plane that reads it, and not by the command line that hands it over", () => {
    // `dev --sso` is the issuer that it names, whoever ends an edge waits for its delay, and whoever starts those of
    // nodes for their keys; agents' files of another vendor have a region, which is refused. The way in to the console is
    // printed where there is one. The main thread opens the file of the access log, which all edges share. `postern up`
    // writes the settings of the server that it installs. `postern doctor` asks the server's name servers.
    const between = ofPlanes
      .filter((name) => !["loginIssuer", "drainDelay", "region", "cluster", "console", "nameServer"].includes(name))
      .filter((name) => !name.startsWith("accessLog"))
      .flatMap((name) =>
        filesNaming(name, "src/cli/")
          .filter((file) => !file.startsWith("src/cli/up/"))
          .map((file) => `${file}: ${name}`),
      );
    assert.deepEqual(between, []);
    const readerOf: readonly (readonly [settings: object, rooms: readonly string[]])[] = [
      [controlPlaneSettings, ["src/api/", "src/storage/"]],
      [edgeSettings, ["src/edge/", "src/traffic/"]],
    ];
    for (const [declared, rooms] of readerOf) {
      const unread = ofPlanes
        .filter((name) => name in declared && name !== "accessLog")
        .filter((name) => rooms.every((room) => filesNaming(name, room).length === 0));
      assert.deepEqual(unread, []);
    }
  });

  it("a setting of a plane reaches a plane in the slice that the plane declares, and in no other plane's", () => {
    const all = defaultsOf(settings);
    assert.deepEqual(sliceOf(edgeSettings, all), defaultsOf(edgeSettings));
    const faults: string[] = [];
    for (const [file, text] of textOf) {
      const room = file.split("/")[1] ?? "";
      if (["cli", "settings"].includes(room)) continue;
      for (const [, target = ""] of text.matchAll(/from "(\.[^"]*\/settings\/[^"]+)"/g)) {
        const path = join(dirname(file), target);
        const isVocabulary = /^src\/settings\/(setting\.ts|kinds\/)/.test(path);
        if (path.startsWith("src/settings/") && !isVocabulary && !slices[room]?.includes(path.slice(13)))
          faults.push(`${file} imports ${path}`);
      }
    }
    assert.deepEqual(faults, []);
  });
});

describe("every setting", () => {
  const entries: readonly (readonly [string, Setting<unknown>])[] = Object.entries(settings);

  it("every setting has a unique flag, variable and key", () => {
    for (const nameOf of [flagOf, variableOf, keyOf]) {
      const names = entries.map(([name, setting]) => nameOf(name, setting));
      assert.equal(new Set(names).size, names.length);
    }
  });

  it("every setting accepts the default that its help shows, if that is a value", () => {
    for (const [name, setting] of entries) {
      const fallback = setting.read(undefined);
      if (setting.shownDefault === undefined || fallback === undefined) continue;
      assert.deepEqual(setting.read([setting.shownDefault]), fallback, name);
    }
  });

  it("every setting that requires another names an existing one", () => {
    for (const [name, { needs }] of entries) {
      if (needs !== undefined)
        assert.ok(
          entries.some(([other]) => other === needs && other !== name),
          name,
        );
    }
  });
});
