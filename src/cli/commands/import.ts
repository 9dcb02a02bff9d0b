import { statSync } from "node:fs";
import { importApi } from "../../import/api/import-api.ts";
import { importCaddy } from "../../import/caddy/import-caddy.ts";
import { importCloudflared } from "../../import/cloudflared/import-cloudflared.ts";
import { importFrp } from "../../import/frp/import-frp.ts";
import { importPangolin } from "../../import/pangolin/import-pangolin.ts";
import { ImportIssue, inOrder, leavesGuardOut } from "../../import/report/report.ts";
import type { Imported } from "../../import/report/report.ts";
import { toVisibleLine, toVisibleLines } from "../../lib/visible-text.ts";
import { defineCommand } from "../command/command.ts";
import { importNgrok } from "../imports/import-ngrok.ts";
import { readLiveApi, readSavedAnswers } from "../imports/read-api.ts";
import { readSourceText } from "../imports/read-source.ts";
import { renderFiles, renderReport, writeImport } from "../imports/write-import.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { namedText, visibleKind } from "../../settings/kinds/text.ts";
import { httpUrl } from "../../settings/kinds/url.ts";
import { flagOnly, one, optional, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

/** Reads the configuration of other programs. Each function returns the converted result. */
type ReadSource = (paths: readonly string[], document: string) => Imported;

const readers: Readonly<Record<string, ReadSource>> = {
  caddy: (paths, document) => importCaddy(requireOneFile(paths), readSourceText(requireOneFile(paths)), document),
  cloudflared: (paths, document) =>
    importCloudflared(requireOneFile(paths), readSourceText(requireOneFile(paths)), document),
  ngrok: (paths) => importNgrok(requireOneFile(paths), readSourceText(requireOneFile(paths))),
  pangolin: (paths, document) => importPangolin(requireOneFile(paths), readSourceText(requireOneFile(paths)), document),
  frp: (paths, document) =>
    importFrp(
      paths.map((file) => ({ file, text: readSourceText(file) })),
      document,
    ),
};

function requireOneFile(paths: readonly string[]): string {
  if (paths.length === 1) return paths[0] as string;
  throw new Failure("usage", "import one file at a time, each with its own --out");
}

export const importCommand = defineCommand({
  name: "import",
  doc: "Convert the configuration of another program to a document and an agent file, with a report that has one line for each setting. Nothing is applied. Exits with code 8 if a setting that protects something was left out.",
  operands: `api|${Object.keys(readers).join("|")} [PATH…]`,
  least: 1,
  most: 100,
  settings: {
    from: flagOnly(optional("URL of the hosted service's API, for `api`.", httpUrl)),
    key: flagOnly(optional("API key for `--from`.", visibleKind("KEY"), { secret: true })),
    out: flagOnly(one("Folder for the files.", namedText("DIR"), { default: "imported" })),
    document: flagOnly(
      one("Name of the document. Use different names for different sources of one account.", namedText("NAME"), {
        default: "imported",
      }),
    ),
    force: flagOnly(toggle("Overwrite files with other content.")),
    json: settings.json,
  },
  examples: [
    "postern import api --from https://api.example.com --key-file key.txt",
    "postern import api saved-answers/",
    "postern import caddy caddy.json",
    "postern import cloudflared config.yml --out from-cloudflared",
    "postern import ngrok ~/.config/ngrok/ngrok.yml",
    "postern import pangolin blueprint.yaml",
    "postern import frp frps.toml frpc.toml",
  ],
  async run({ from, key, out, document, force, json }, [source = "", ...paths]) {
    const imported = await readImport(source, paths, document, from, key).catch((error: unknown) => {
      if (error instanceof ImportIssue) throw new Failure("usage", toVisibleLine(error.message), { cause: error });
      throw error;
    });
    const files = writeImport(imported, out, force);
    const report = inOrder(imported.report);
    process.stdout.write(
      json
        ? `${JSON.stringify(toVisibleLines({ files, report, secrets: imported.secrets.map(({ name, value, usedBy }) => ({ name, used_by: usedBy, known: value !== undefined })) }))}\n`
        : renderReport(report) + renderFiles(files),
    );
    return leavesGuardOut(report) ? exitCodes.importLeftGuards : exitCodes.fine;
  },
});

async function readImport(
  source: string,
  paths: readonly string[],
  document: string,
  from: string | undefined,
  key: string | undefined,
): Promise<Imported> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(document)) {
    throw new Failure(
      "usage",
      `--document must be 1 to 64 letters, digits, dots, dashes and underscores, not "${document}"`,
    );
  }
  if (source === "api") return readApi(paths, document, from, key);
  if (from !== undefined || key !== undefined)
    throw new Failure("usage", "--from and --key are only for `postern import api`");
  if (source === "nginx" || source === "traefik") {
    throw new Failure(
      "usage",
      `postern cannot import ${source} configuration yet: see the guides for edges, routes and policies`,
    );
  }
  const read = Object.hasOwn(readers, source) ? readers[source] : undefined;
  if (!read)
    throw new Failure("usage", `unknown source "${source}": choose one of api, ${Object.keys(readers).join(", ")}`);
  if (paths.length === 0) throw new Failure("usage", `postern import ${source} needs a file`);
  return read(paths, document);
}

async function readApi(
  paths: readonly string[],
  document: string,
  from: string | undefined,
  key: string | undefined,
): Promise<Imported> {
  const [folder] = paths;
  if (from === undefined) {
    if (folder === undefined || paths.length > 1)
      throw new Failure("usage", "set the API with --from URL, or name one folder of saved answers");
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      throw new Failure("usage", `"${folder}" is not a folder`);
    const { objects, report } = readSavedAnswers(folder);
    return importApi(objects, document, report);
  }
  if (folder !== undefined) throw new Failure("usage", "use --from URL or a folder, not both");
  if (key === undefined) throw new Failure("usage", `no API key for ${from}: set one with --key-file`);
  const { objects, report } = await readLiveApi(from, key);
  return importApi(objects, document, report);
}
