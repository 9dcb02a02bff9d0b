/** Starts a checked server, waits for its certificate, and tests it through its public name. */
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Postern } from "../../../sdk/src/index.ts";
import { request as requestHttp } from "../../lib/http.ts";
import { acmeSettings } from "../../settings/acme.ts";
import { renderListen } from "../../settings/kinds/address.ts";
import { apiFailure, openApi } from "../api/api-client.ts";
import { dataFiles, readPublic } from "../data/data-files.ts";
import { lineOf } from "../doctor/finding.ts";
import type { Finding } from "../doctor/finding.ts";
import { checkLoginHost } from "../doctor/login-host.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { posternProgram } from "../process/program.ts";
import { waitForSignal } from "../process/signals.ts";
import { waitForCertificate } from "./wait-for-certificate.ts";
import type { UpChecks } from "./checks.ts";
import { runServer } from "./foreground.ts";
import { apiKeyIn } from "./up-plan.ts";
import type { UpPlan } from "./up-plan.ts";
import { renderServerFile, writeServerFile } from "./server-file.ts";
import type { ServerFileValues } from "./server-file.ts";
import { startService } from "./server-service.ts";
import type { UpValues } from "./up-settings.ts";

/** A first start creates keys and tables. */
const readyMs = 60_000;
const pollMs = 250;

type Print = (line: string) => void;

/** Resolves with the exit code. */
export async function bringUp(plan: UpPlan, values: UpValues, checks: UpChecks, print: Print): Promise<number> {
  if (checks.terms !== undefined) print(`terms of service accepted: ${checks.terms}`);
  const config = resolve(values.file);
  const change = writeServerFile(config, renderServerFile(fileValues(plan, values)), values.force);
  print(change === "written" ? `wrote ${config}` : `${config} is unchanged`);
  const program = posternProgram();
  if (plan.isService) {
    startService({ program, config, data: plan.data }, change === "written", print);
    return finishStart(plan, values, checks, print);
  }
  const stopped = waitForSignal();
  const server = runServer(program, config);
  try {
    const ended = server.ended.then((code): number => {
      throw new Failure("unexpected", `the server ended with exit code ${code}: its log above says why`);
    });
    const code = await Promise.race([finishStart(plan, values, checks, print), ended, stopped]);
    return code === exitCodes.fine ? await Promise.race([stopped, server.ended]) : code;
  } finally {
    server.stop();
    await server.ended;
  }
}

function fileValues(plan: UpPlan, values: UpValues): ServerFileValues {
  return {
    data: plan.data,
    domain: plan.domain,
    ...(values.idpHost !== undefined && { idp_host: values.idpHost }),
    https_listen: renderListen(plan.https),
    ...(values.httpsPort !== undefined && { https_port: values.httpsPort }),
    http_listen: plan.http ? renderListen(plan.http) : "off",
    agent_listen: renderListen(plan.agents),
    api_listen: renderListen(values.apiListen),
    acme_agree: true,
    acme_email: values.email as string,
    ...(plan.acmeDirectory !== acmeSettings.acmeDirectory.shownDefault && { acme_directory: plan.acmeDirectory }),
    ...(values.acmeCa !== undefined && { acme_ca: resolve(values.acmeCa) }),
    ...(values.nameServer.length > 0 && { name_server: values.nameServer }),
    log_format: "json",
  };
}

async function finishStart(plan: UpPlan, values: UpValues, checks: UpChecks, print: Print): Promise<number> {
  const api = await openReadyApi(plan, values);
  print("✓ server: is running");
  const findings = [await waitForCertificate(api, plan.idpHost, print)];
  if (findings[0]?.outcome === "fine") findings.push(...(await testPublicName(plan)));
  for (const finding of findings) print(lineOf(finding));
  const isReady = !findings.some(({ outcome }) => outcome === "wrong");
  const links = isReady ? await linksOf(api) : undefined;
  if (values.json) {
    const result = { findings: [...checks.findings, ...findings], missing_records: [], ready: isReady, ...links };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } else if (links) print(renderWelcome(plan, links));
  return isReady ? exitCodes.fine : exitCodes.unexpected;
}

/** Opens the API of the started server once it is ready. Its key is in the data directory. */
async function openReadyApi({ data }: UpPlan, { apiListen }: UpValues): Promise<Postern> {
  const { host = "0.0.0.0", port } = apiListen;
  const apiUrl = `http://${renderListen({ host: host === "0.0.0.0" ? "127.0.0.1" : host, port })}`;
  const endsAt = performance.now() + readyMs;
  for (;;) {
    const apiKey = (await isReady(`${apiUrl}/readyz`)) ? apiKeyIn(join(data, dataFiles.apiKey)) : undefined;
    if (apiKey !== undefined) return openApi({ config: undefined, data, apiUrl, apiKey });
    if (performance.now() > endsAt) {
      throw new Failure(
        "unexpected",
        `the server at ${apiUrl} is not ready after ${readyMs / 1000} s: read its log, for a service with \`journalctl -u postern\``,
      );
    }
    await sleep(pollMs);
  }
}

async function isReady(url: string): Promise<boolean> {
  const { promise, resolve: answer } = Promise.withResolvers<boolean>();
  const request = requestHttp(url, { agent: false, signal: AbortSignal.timeout(readyMs) }, (response) => {
    response.resume();
    answer(response.statusCode === 200);
  });
  request.on("error", () => answer(false));
  request.end();
  return promise;
}

/** Sends a request to the login host through DNS and the public port, as visitors do. */
function testPublicName({ domain, idpHost, publicPort, data, resolve: resolveName }: UpPlan): Promise<Finding[]> {
  return checkLoginHost({
    host: idpHost,
    domain,
    port: publicPort,
    ownCa: readPublic(data, dataFiles.caCertificate),
    async addressesOf(name) {
      const { v4, v6 } = await resolveName(name);
      return [...v4, ...v6];
    },
  });
}

interface Links {
  readonly console_url: string;
  /** For one laptop, valid for an hour. */
  readonly join_command: string;
}

async function linksOf(api: Postern): Promise<Links> {
  try {
    const [link, invitation] = await Promise.all([
      api.consoleLinks.create(),
      api.agentInvitations.create({ description: "postern up" }),
    ]);
    return { console_url: link.url, join_command: `postern join ${invitation.code}` };
  } catch (error) {
    throw apiFailure(error);
  }
}

function renderWelcome(
  { domain, publicPort }: UpPlan,
  { console_url: consoleUrl, join_command: joinCommand }: Links,
): string {
  const port = publicPort === 443 ? "" : `:${publicPort}`;
  return `
The server is ready: https://NAME.${domain}${port}

  Console      ${consoleUrl}
  On a laptop  ${joinCommand}
               postern http 3000 --url https://NAME.${domain}${port}

The console link works once, within 15 minutes. The join code works for one machine, within an hour.
Before browsers visit a name, request its certificate: docs/guides/first-public-server.md, step 4.`;
}
