import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { rootCertificates } from "node:tls";
import { request as requestHttp } from "../../lib/http.ts";
import { providerNamed, providers } from "../../webhooks/webhook-providers.ts";
import type { Signed } from "../../webhooks/scheme.ts";
import { signSample } from "../../webhooks/webhook-verification.ts";
import { defineCommand } from "../command/command.ts";
import { readTrustedAuthorities } from "../data/trusted-authorities.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { headerSetting, readHeaders } from "../settings/read-headers.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, one, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

/** Maximum size of a sent body and of a shown response, bytes. */
const maxBodyBytes = 5_242_880;
const timeoutMs = 30_000;

export const webhookSend = defineCommand({
  name: "webhook send",
  doc: "Send a sample webhook with the provider's signature, to test a verification. Exits with code 0 if the answer is a success, else with 7.",
  operands: "PROVIDER URL",
  least: 2,
  most: 2,
  settings: {
    secret: flagOnly(optional("Secret that you share with the provider.", namedText("SECRET"), { secret: true })),
    body: flagOnly(
      one("Body: text, @FILE, or @- for standard input.", namedText("BODY"), { default: "{}", flag: "data" }),
    ),
    header: headerSetting,
    ca: settings.ca,
    data: { ...settings.data, flag: "data-dir" },
    json: settings.json,
  },
  examples: [
    "postern webhook send github --secret s3cret --data @push.json https://hooks.example.com/github",
    `postern webhook send stripe --secret-file whsec.txt --data '{"type":"ping"}' https://hooks.example.com/`,
  ],
  async run({ secret, body, header, ca, data, json }, [name = "", url = ""]) {
    const provider = providerNamed(name);
    if (provider === undefined) {
      throw new Failure("usage", `unknown provider "${name}": choose one of ${Object.keys(providers).join(", ")}`);
    }
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      throw new Failure("usage", `the URL must begin with https:// or http://: "${url}"`);
    }
    const content = readBody(body);
    const signed = signExample(provider, secret, content, url);
    const headers = { "content-type": contentType(content), ...readHeaders(header), ...signed.headers };
    const sample = { url: new URL(signed.url ?? url), headers, body: signed.body ?? content };
    const answer = await sendWebhook(sample, readTrustedCa(ca, data, sample.url));
    const sent = { url: sample.url.href, headers: withoutSecret(headers, secret) };
    process.stdout.write(json ? `${JSON.stringify({ sent, answer })}\n` : renderExchange(sent, answer));
    return answer.status < 300 ? exitCodes.fine : exitCodes.refused;
  },
});

/** Some providers send the secret itself. */
function withoutSecret(headers: Readonly<Record<string, string>>, secret = ""): Readonly<Record<string, string>> {
  const holds = (name: string, value: string): boolean =>
    name.toLowerCase() === "authorization" || (secret !== "" && value.includes(secret));
  return Object.fromEntries(Object.entries(headers).map(([name, one]) => [name, holds(name, one) ? "***" : one]));
}

interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
  /** The edge's error code, and the request id that an operator can look up. */
  readonly error_code: string | null;
  readonly request_id: string | null;
}

function signExample(provider: string, secret: string | undefined, body: Buffer, url: string): Signed {
  try {
    return signSample(provider, { secret: secret ?? "", body, url, now: Date.now() });
  } catch (error) {
    throw new Failure("usage", `sign as ${provider}: ${(error as Error).message}`, { cause: error });
  }
}

/** Reads `@FILE`, `@-` for standard input, or the text itself. */
function readBody(text: string): Buffer {
  if (!text.startsWith("@")) return Buffer.from(text);
  const path = text.slice(1);
  try {
    const bytes = readFileSync(path === "-" ? 0 : path);
    if (bytes.length > maxBodyBytes) throw new Error(`the body is larger than ${maxBodyBytes} bytes`);
    return bytes;
  } catch (error) {
    throw new Failure("usage", `--data: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

function contentType(body: Buffer): string {
  return /^\s*[[{]/.test(body.toString("latin1", 0, 64)) ? "application/json" : "application/x-www-form-urlencoded";
}

/**
 * Returns the named CA. For names of this machine, the default is the local server's CA in addition to the system's.
 */
function readTrustedCa(path: string | undefined, directory: string, { hostname }: URL): string[] | undefined {
  const isHere = /(^|\.)localhost$|^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname);
  const authorities = readTrustedAuthorities(path, isHere ? directory : undefined);
  if (authorities === undefined) return undefined;
  return path === undefined ? [authorities, ...rootCertificates] : [authorities];
}

async function sendWebhook(
  { url, headers, body }: { url: URL; headers: Readonly<Record<string, string>>; body: Buffer },
  ca: string[] | undefined,
): Promise<WebhookAnswer> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>();
  const options = {
    method: "POST",
    headers: { host: url.host, ...headers, "content-length": String(body.length) },
    signal: AbortSignal.timeout(timeoutMs),
    // RFC 6761 §6.3: names under localhost are this machine, whatever the resolver returns.
    ...(/(^|\.)localhost$/.test(url.hostname) && { hostname: "127.0.0.1", servername: url.hostname }),
    ...(ca && { ca }),
  };
  const request = url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
  request.once("response", answered);
  request.once("error", reject);
  request.end(body);
  try {
    const response = await promise;
    const { "postern-error-code": code, "x-request-id": id } = response.headers;
    return {
      status: response.statusCode ?? 0,
      body: await readText(response),
      error_code: code === undefined ? null : String(code),
      request_id: id === undefined ? null : String(id),
    };
  } catch (error) {
    throw new Failure("unreachable", `cannot reach ${url.origin}: ${(error as Error).message}`, { cause: error });
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBodyBytes) throw new Error("the answer is too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function renderExchange(sent: { readonly headers: Readonly<Record<string, string>> }, answer: WebhookAnswer): string {
  const lines = Object.entries(sent.headers).map(([name, value]) => `> ${name}: ${value}\n`);
  const why = answer.error_code === null ? "" : ` (${answer.error_code}, request ${answer.request_id})`;
  return `${lines.join("")}< ${answer.status}${why}\n${answer.body}${answer.body.endsWith("\n") ? "" : "\n"}`;
}
