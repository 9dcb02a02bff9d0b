/**
 * Cloud services that receive events. They check signatures, headers, formats and limits as strictly as the real
 * services.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { Body } from "./api.ts";
import { signatureFault } from "./sigv4.ts";
import type { SignedRequest } from "./sigv4.ts";

export interface CloudAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CloudCall {
  /** `PutRecords`, `AssumeRole`, `token`, `logs`, `rows`… */
  readonly operation: string;
  readonly input: Body;
}

export interface Clouds {
  readonly url: string;
  readonly ca: string;
  readonly calls: CloudCall[];
  /** Responses to the next calls of an operation; "silence" for no response. */
  readonly answers: Map<string, (CloudAnswer | "silence")[]>;
  /** Errors in requests. These requests got 400. */
  readonly faults: string[];
  /** Resolves when an operation has been called this many times since the start. */
  count(operation: string, count: number): Promise<CloudCall[]>;
  stop(): Promise<void>;
}

export const aws = {
  region: "eu-west-1",
  creds: { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" },
  operator: { accessKeyId: "AKIAOPERATOREXAMPLE", secretAccessKey: "operator/secret/of/the/server" },
  lent: { accessKeyId: "ASIALENTEXAMPLE", secretAccessKey: "lent/secret", sessionToken: "lent/session/token==" },
} as const;

export const datadogKey = "0123456789abcdef0123456789abcdef";
export const azureSecret = "azure~client~secret";

const services: Readonly<Record<string, string>> = {
  Kinesis_20131202: "kinesis",
  Firehose_20150804: "firehose",
  Logs_20140328: "logs",
};

export async function startClouds(): Promise<Clouds> {
  const authority = await createAuthority({ commonName: "Clouds", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], days: 1, now: Date.now() });
  const calls: CloudCall[] = [];
  const answers: Clouds["answers"] = new Map();
  const faults: string[] = [];
  const streams = new Set<string>();
  let tokens = 0;

  const answer = (request: SignedRequest): CloudAnswer | "silence" => {
    const { operation, input, respond } = callOf(request, streams, () => `token-${(tokens += 1)}`, tokens);
    calls.push({ operation, input });
    return answers.get(operation)?.shift() ?? respond();
  };
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      let given: CloudAnswer | "silence";
      try {
        assert.equal(method, "POST");
        assert.equal(Number(headers["content-length"]), Buffer.byteLength(body));
        given = answer({ method, target: url, headers, body });
      } catch (error) {
        faults.push((error as Error).message);
        given = { status: 400, body: { __type: "ValidationException", message: (error as Error).message } };
      }
      server.emit("counted");
      if (given === "silence") return;
      const text = typeof given.body === "string" ? given.body : given.body ? JSON.stringify(given.body) : "";
      response.writeHead(given.status, given.headers);
      response.end(text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    ca: authority.certificatePem,
    calls,
    answers,
    faults,
    async count(operation, count) {
      for (;;) {
        const made = calls.filter((call) => call.operation === operation);
        if (made.length >= count) return made;
        await once(server, "counted");
      }
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Understood extends CloudCall {
  respond(): CloudAnswer;
}

/** Throws for requests that the service would reject. */
function callOf(request: SignedRequest, streams: Set<string>, newToken: () => string, tokens: number): Understood {
  const { target, headers } = request;
  if (target.endsWith("/oauth2/v2.0/token")) return tokenCall(request, newToken);
  if (target.startsWith("/dataCollectionRules/")) return rowsCall(request, tokens);
  if (target === "/api/v2/logs") return logsCall(request);
  if (target === "/sts") return assumeRoleCall(request);
  const [prefix = "", operation = ""] = String(headers["x-amz-target"]).split(".");
  const service = services[prefix];
  assert.ok(service, `${prefix} is no service`);
  assert.equal(headers["content-type"], "application/x-amz-json-1.1");
  checkSignature(request, service);
  const input = JSON.parse(request.body) as Body;
  return { operation, input, respond: () => awsAnswer(operation, input, streams) };
}

function checkSignature(request: SignedRequest, service: string): void {
  const lent = request.headers["x-amz-security-token"] !== undefined;
  const keys = service === "sts" ? aws.operator : lent ? aws.lent : aws.creds;
  const fault = signatureFault(request, { ...keys, region: aws.region, service, nowMs: Date.now() });
  assert.equal(fault, undefined);
}

function awsAnswer(operation: string, input: Body, streams: Set<string>): CloudAnswer {
  switch (operation) {
    case "PutRecords": {
      assert.deepEqual(Object.keys(input), ["StreamARN", "Records"]);
      const bytes = input.Records.map((one: Body) => decoded(one.Data).length + one.PartitionKey.length);
      bounded(input.Records, bytes, { count: 500, each: 1_048_576, all: 5_242_880 });
      for (const { PartitionKey } of input.Records) assert.ok(PartitionKey.length >= 1 && PartitionKey.length <= 256);
      const Records = input.Records.map(() => ({ SequenceNumber: "1", ShardId: "shardId-0" }));
      return { status: 200, body: { FailedRecordCount: 0, Records } };
    }
    case "PutRecordBatch": {
      assert.deepEqual(Object.keys(input), ["DeliveryStreamName", "Records"]);
      const bytes = input.Records.map((one: Body) => decoded(one.Data).length);
      bounded(input.Records, bytes, { count: 500, each: 1_024_000, all: 4_194_304 });
      return {
        status: 200,
        body: { FailedPutCount: 0, RequestResponses: input.Records.map(() => ({ RecordId: "r" })) },
      };
    }
    case "CreateLogStream":
      assert.deepEqual(Object.keys(input), ["logGroupName", "logStreamName"]);
      assert.match(input.logStreamName, /^[^:*]{1,512}$/);
      streams.add(input.logStreamName);
      return { status: 200 };
    case "PutLogEvents": {
      if (!streams.has(input.logStreamName)) {
        return { status: 400, body: { __type: "ResourceNotFoundException", message: "no such stream" } };
      }
      const times: number[] = input.logEvents.map((one: Body) => one.timestamp);
      assert.deepEqual(
        times,
        times.toSorted((one, other) => one - other),
      );
      assert.ok(Number(times.at(-1)) - Number(times[0]) <= 86_400_000);
      const bytes = input.logEvents.map((one: Body) => Buffer.byteLength(one.message) + 26);
      bounded(input.logEvents, bytes, { count: 10_000, each: 262_144, all: 1_048_576 });
      return { status: 200, body: {} };
    }
    default:
      throw new Error(`${operation} is no operation`);
  }
}

function decoded(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  assert.equal(bytes.toString("base64"), text);
  return bytes;
}

function bounded(
  list: readonly unknown[],
  bytes: readonly number[],
  most: { readonly count: number; readonly each: number; readonly all: number },
): void {
  assert.ok(list.length >= 1 && list.length <= most.count, `${list.length} records`);
  for (const one of bytes) assert.ok(one <= most.each, `${one} bytes in a record`);
  const all = bytes.reduce((sum, one) => sum + one, 0);
  assert.ok(all <= most.all, `${all} bytes`);
}

function assumeRoleCall(request: SignedRequest): Understood {
  const { "content-type": type } = request.headers;
  assert.equal(type, "application/x-www-form-urlencoded; charset=utf-8");
  checkSignature(request, "sts");
  const input = Object.fromEntries(new URLSearchParams(request.body));
  assert.equal(input["Version"], "2011-06-15");
  assert.match(input["RoleSessionName"] ?? "", /^[\w+=,.@-]{2,64}$/);
  const { accessKeyId, secretAccessKey, sessionToken } = aws.lent;
  const respond = (): CloudAnswer => ({
    status: 200,
    body: `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
<SessionToken>${sessionToken}</SessionToken><Expiration>${new Date(Date.now() + 3_600_000).toISOString()}</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  });
  return { operation: "AssumeRole", input, respond };
}

function logsCall({ headers, body }: SignedRequest): Understood {
  assert.equal(headers["content-type"], "application/json");
  const input = JSON.parse(body) as Body;
  const respond = (): CloudAnswer => {
    if (headers["dd-api-key"] !== datadogKey) return { status: 403, body: { errors: [headers["dd-api-key"]] } };
    const bytes = input.map((one: Body) => Buffer.byteLength(JSON.stringify(one)));
    bounded(input, bytes, { count: 1000, each: 1_000_000, all: 5_000_000 });
    return { status: 202, body: {} };
  };
  return { operation: "logs", input, respond };
}

function tokenCall({ target, headers, body }: SignedRequest, newToken: () => string): Understood {
  assert.equal(target, "/tenant-1/oauth2/v2.0/token");
  assert.equal(headers["content-type"], "application/x-www-form-urlencoded");
  const input = Object.fromEntries(new URLSearchParams(body));
  assert.equal(input["grant_type"], "client_credentials");
  assert.equal(input["scope"], "https://monitor.azure.com//.default");
  const respond = (): CloudAnswer => {
    if (input["client_secret"] !== azureSecret) {
      const told = `AADSTS7000215: Invalid client secret provided: ${input["client_secret"]}`;
      return { status: 401, body: { error: "invalid_client", error_description: told } };
    }
    return { status: 200, body: { token_type: "Bearer", expires_in: 3599, access_token: newToken() } };
  };
  return { operation: "token", input, respond };
}

function rowsCall({ target, headers, body }: SignedRequest, tokens: number): Understood {
  assert.equal(target, "/dataCollectionRules/dcr-1/streams/Custom-Events_CL?api-version=2023-01-01");
  assert.equal(headers["content-type"], "application/json");
  assert.ok(Buffer.byteLength(body) <= 1_048_576);
  const input = JSON.parse(body) as Body;
  assert.ok(Array.isArray(input));
  for (const { TimeGenerated } of input) assert.ok(!Number.isNaN(Date.parse(TimeGenerated)));
  const respond = (): CloudAnswer =>
    isBearer(headers, `token-${tokens}`)
      ? { status: 204 }
      : { status: 401, body: { error: { code: "InvalidToken", message: String(headers.authorization) } } };
  return { operation: "rows", input, respond };
}

function isBearer({ authorization }: IncomingHttpHeaders, token: string): boolean {
  return authorization === `Bearer ${token}`;
}
