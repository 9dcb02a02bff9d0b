/** Events on their way to the clouds' services, over their documented interfaces. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import { makeLog } from "../../src/lib/log.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { aws, azureSecret, datadogKey, startClouds } from "../support/clouds.ts";
import type { Clouds } from "../support/clouds.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { subscribe } from "../support/receiver.ts";

const sqlite = databases[0] as (typeof databases)[number];

const creds = { aws_access_key_id: aws.creds.accessKeyId, aws_secret_access_key: aws.creds.secretAccessKey };
const role = { role_arn: "arn:aws:iam::123456789012:role/events" };
const arn = (service: string, resource: string): string => `arn:aws:${service}:${aws.region}:123456789012:${resource}`;

/** Every target, its endpoint at the test's server. */
const targets = {
  kinesis: (url: string) => ({
    kinesis: { auth: { creds }, stream_arn: arn("kinesis", "stream/events"), endpoint: url },
  }),
  firehose: (url: string) => ({
    firehose: { auth: { creds }, delivery_stream_arn: arn("firehose", "deliverystream/events"), endpoint: url },
  }),
  cloudwatch_logs: (url: string) => ({
    cloudwatch_logs: { auth: { creds }, log_group_arn: arn("logs", "log-group:/postern/events:*"), endpoint: url },
  }),
  datadog: (url: string) => ({
    datadog: { api_key: datadogKey, ddtags: "env:test", service: "edge", endpoint: `${url}/api/v2/logs` },
  }),
  azure_logs_ingestion: (url: string) => ({
    azure_logs_ingestion: {
      tenant_id: "tenant-1",
      client_id: "client-1",
      client_secret: azureSecret,
      logs_ingestion_uri: url,
      data_collection_rule_id: "dcr-1",
      data_collection_stream_name: "Custom-Events_CL",
      authority_host: url,
    },
  }),
} as const;
type TargetName = keyof typeof targets;

const base64 = (text: string): string => Buffer.from(text, "base64").toString();

/** The events in a call, as text. */
const bodies: Readonly<Record<TargetName, { readonly operation: string; of(input: Body): string[] }>> = {
  kinesis: { operation: "PutRecords", of: (input) => input.Records.map((one: Body) => base64(one.Data)) },
  firehose: { operation: "PutRecordBatch", of: (input) => input.Records.map((one: Body) => base64(one.Data)) },
  cloudwatch_logs: { operation: "PutLogEvents", of: (input) => input.logEvents.map((one: Body) => one.message) },
  datadog: { operation: "logs", of: (input) => input.map((one: Body) => one.message) },
  azure_logs_ingestion: { operation: "rows", of: (input) => input.map((one: Body) => JSON.stringify(one)) },
};

describe("events to the clouds", { timeout: 100_000 }, () => {
  let clouds: Clouds;
  let api: TestApi;
  let logged = "";
  before(async () => {
    clouds = await startClouds();
    api = await startApi(sqlite, {
      allowLocalUpstreams: true,
      eventsCa: clouds.ca,
      awsAccessKeyId: aws.operator.accessKeyId,
      awsSecretAccessKey: aws.operator.secretAccessKey,
      awsStsEndpoint: `${clouds.url}/sts`,
      log: makeLog({ level: "debug", format: "json", ...systemClock, write: (lines) => (logged += lines) }),
    });
  });
  after(async () => {
    await api.stop();
    await clouds.stop();
  });
  afterEach(async () => {
    for (const { id } of (await api.ok("GET", "/event_subscriptions")).event_subscriptions) {
      await api.ok("DELETE", `/event_subscriptions/${id}`);
    }
    clouds.calls.length = 0;
    clouds.answers.clear();
    assert.deepEqual(clouds.faults, []);
  });

  const policies = async (...names: readonly string[]): Promise<void> => {
    for (const description of names) await api.ok("POST", "/ip_policies", { description });
  };
  const type = "ip_policy_created.v0";
  const delivery = async (id: string, wanted: (delivery: Body) => boolean): Promise<Body> => {
    const read = (): Promise<Body> => api.ok("GET", `/event_destinations/${id}`);
    return (await eventually(read, ({ delivery }) => wanted(delivery))).delivery;
  };
  /** Descriptions of the policies in the events that were sent, in their order. */
  const told = (name: TargetName): string[] => {
    const { operation, of } = bodies[name];
    const sent = clouds.calls.filter((call) => call.operation === operation);
    return sent.flatMap(({ input }) => of(input).map((text) => JSON.parse(text).object.description));
  };

  for (const name of Object.keys(targets) as TargetName[]) {
    it(`events to the clouds: ${name}: are delivered in their order, after a refusal too`, async () => {
      const { operation } = bodies[name];
      clouds.answers.set(operation, [{ status: 503, body: { __type: "ServiceUnavailable" } }]);
      const { destination } = await subscribe(api, targets[name](clouds.url), [type]);
      await policies("one", "two", "three");
      const { error } = await delivery(destination.id, (now) => now.delivered === 3);
      assert.equal(error, "");
      const [first, ...rest] = told(name);
      assert.equal(first, "one");
      assert.deepEqual(rest.slice(-3), ["one", "two", "three"]);
    });

    it(`events to the clouds: ${name}: I7: use HTTPS and public addresses only, unless the operator allows others`, async () => {
      const strict = await startApi(sqlite);
      try {
        const plain = targets[name]("http://collector.example.com");
        const refused = await strict.request("POST", "/event_destinations", { body: { target: plain } });
        assert.equal(refused.status, 400);
        assert.match(JSON.stringify(refused.body.details), /must begin with https/);
        const { destination } = await subscribe(strict, targets[name](clouds.url), [type]);
        await strict.ok("POST", "/ip_policies", {});
        const read = (): Promise<Body> => strict.ok("GET", `/event_destinations/${destination.id}`);
        const { delivery: status } = await eventually(read, ({ delivery }) => delivery.error !== "");
        assert.deepEqual([status.state, status.delivered], ["retrying", 0]);
        assert.match(status.error, /not public/);
        assert.equal(clouds.calls.length, 0);
      } finally {
        await strict.stop();
      }
    });
  }

  for (const [name, results] of [
    ["kinesis", "Records"],
    ["firehose", "RequestResponses"],
  ] as const) {
    it(`events to the clouds: ${name}: are sent again from the first record that was refused, so that their order holds`, async () => {
      const { operation, of } = bodies[name];
      const refusedSecond = [{}, { ErrorCode: "ProvisionedThroughputExceededException" }, {}];
      const answer = { FailedPutCount: 1, FailedRecordCount: 1, [results]: refusedSecond };
      clouds.answers.set(operation, [{ status: 200, body: answer }]);
      const { destination } = await subscribe(api, targets[name](clouds.url), [type]);
      const named = (description: string): [string, Body] => [description, { description }];
      const objects = { ip_policy: Object.fromEntries(["a", "b", "c"].map(named)) };
      await api.ok("POST", "/apply", { document: name.replace("_", "-"), objects });
      await delivery(destination.id, (now) => now.delivered === 3);
      const sent = (await clouds.count(operation, 2)).map(({ input }) => of(input).length);
      assert.deepEqual(sent, [3, 2]);
      const [first, second] = [told(name).slice(0, 3), told(name).slice(3)];
      assert.deepEqual(second, first.slice(1));
    });
  }

  it("events to the clouds: kinesis: have one key per account, firehose: are lines", async () => {
    const one = await subscribe(api, targets.kinesis(clouds.url), [type]);
    const other = await subscribe(api, targets.firehose(clouds.url), [type]);
    await policies("a");
    await Promise.all([one, other].map(({ destination }) => delivery(destination.id, (now) => now.delivered === 1)));
    const [put] = await clouds.count("PutRecords", 1);
    const [record] = (put as Body).input.Records;
    assert.equal(record.PartitionKey, JSON.parse(base64(record.Data)).account_id);
    const batch = (await clouds.count("PutRecordBatch", 1))[0]?.input;
    assert.equal(batch.DeliveryStreamName, "events");
    assert.match(base64(batch.Records[0].Data), /^\{.*\}\n$/);
  });

  it("events to the clouds: cloudwatch_logs: go to a log stream of the destination's own, made when it is missing", async () => {
    const { destination } = await subscribe(api, targets.cloudwatch_logs(clouds.url), [type]);
    await policies("a");
    await delivery(destination.id, (now) => now.delivered === 1);
    const place = { logGroupName: "/postern/events", logStreamName: `postern/${destination.id}` };
    assert.deepEqual((await clouds.count("CreateLogStream", 1))[0]?.input, place);
    assert.equal(clouds.calls.at(-1)?.input.logEvents[0].timestamp % 1000, 0);
  });

  it("events to the clouds: cloudwatch_logs: are shortened to the service's limit", async () => {
    const { destination } = await subscribe(api, targets.cloudwatch_logs(clouds.url), ["https_edge_route_updated.v0"]);
    const edge = await api.ok("POST", "/edges/https", {});
    // Values that may contain a secret are masked, so the length must be elsewhere.
    const expressions = Array.from({ length: 100 }, (_, index) => `${index}${'"'.repeat(250)}`);
    const user_agent_filter = { allow: expressions, deny: expressions };
    const body = { match_type: "path_prefix", match: "/", user_agent_filter };
    const made = await api.ok("POST", `/edges/https/${edge.id}/routes`, body);
    await api.ok("PATCH", `/edges/https/${edge.id}/routes/${made.id}`, { description: "changed" });
    await delivery(destination.id, (now) => now.delivered === 1);
    const event = JSON.parse(clouds.calls.at(-1)?.input.logEvents[0].message);
    assert.deepEqual([event.shortened, event.object, event.after], [true, { id: made.id }, null]);
    assert.match(event.event_id, /^ev_/);
  });

  it("events to the clouds: datadog: have the tags and the service that the destination names", async () => {
    const { destination } = await subscribe(api, targets.datadog(clouds.url), [type]);
    await policies("a");
    await delivery(destination.id, (now) => now.delivered === 1);
    const [{ message, ...attributes }] = (clouds.calls[0] as Body).input;
    assert.deepEqual(attributes, { ddsource: "postern", ddtags: "env:test", service: "edge" });
    assert.equal(JSON.parse(message).event_type, type);
  });

  it("events to the clouds: azure_logs_ingestion: use one token, until it is refused", async () => {
    const { destination } = await subscribe(api, targets.azure_logs_ingestion(clouds.url), [type]);
    await policies("a");
    await delivery(destination.id, (now) => now.delivered === 1);
    await policies("b");
    await delivery(destination.id, (now) => now.delivered === 2);
    assert.equal((await clouds.count("token", 1)).length, 1);
    clouds.answers.set("rows", [{ status: 401, body: { error: { code: "InvalidToken" } } }]);
    await policies("c");
    await delivery(destination.id, (now) => now.delivered === 3);
    assert.equal((await clouds.count("token", 2)).length, 2);
  });

  it("events to the clouds assume a role with the operator's key and the account's id, and cache the temporary credentials", async () => {
    const target = { kinesis: { ...targets.kinesis(clouds.url).kinesis, auth: { role } } };
    const { destination } = await subscribe(api, target, [type]);
    await policies("a");
    await delivery(destination.id, (now) => now.delivered === 1);
    await policies("b");
    await delivery(destination.id, (now) => now.delivered === 2);
    const asked = await clouds.count("AssumeRole", 1);
    assert.equal(asked.length, 1);
    const [event] = bodies.kinesis.of(clouds.calls.at(-1)?.input).map((text) => JSON.parse(text));
    assert.equal(asked[0]?.input.RoleArn, role.role_arn);
    assert.equal(asked[0]?.input.ExternalId, event.account_id);
    clouds.answers.set("PutRecords", [{ status: 400, body: { __type: "com.amazonaws#ExpiredTokenException" } }]);
    await policies("c");
    await delivery(destination.id, (now) => now.delivered === 3);
    assert.equal((await clouds.count("AssumeRole", 2)).length, 2);
  });

  it("K4: events to the clouds hide a secret that a receiver repeats", async () => {
    const wrongKey = "ffffffffffffffffffffffffffffffff";
    const wrongSecret = "wrong~client~secret";
    const repeated = `${creds.aws_secret_access_key} ${aws.lent.sessionToken}`;
    clouds.answers.set("PutRecords", [{ status: 403, body: { __type: repeated, message: repeated } }]);
    const { datadog } = targets.datadog(clouds.url);
    const { azure_logs_ingestion: azure } = targets.azure_logs_ingestion(clouds.url);
    const subscriptions = [
      await subscribe(api, { datadog: { ...datadog, api_key: wrongKey } }, [type]),
      await subscribe(api, { azure_logs_ingestion: { ...azure, client_secret: wrongSecret } }, [type]),
      await subscribe(api, targets.kinesis(clouds.url), [type]),
    ];
    await policies("a");
    const failed = async ({ destination }: Body): Promise<string> =>
      (await delivery(destination.id, (now) => now.error !== "" || now.delivered > 0)).error;
    const [ofDatadog, ofAzure] = await Promise.all(subscriptions.map(failed));
    assert.equal(ofDatadog, "the receiver answered 403");
    assert.equal(ofAzure, "the receiver answered 401 invalid_client (AADSTS7000215) for a token request");
    assert.match(logged, /event not delivered/);
    for (const secret of [wrongKey, wrongSecret, creds.aws_secret_access_key, aws.lent.sessionToken]) {
      assert.ok(!logged.includes(secret));
    }
  });

  it("events to the clouds are not late because of a destination that never answers", async () => {
    clouds.answers.set("PutRecords", ["silence"]);
    const stuck = await subscribe(api, targets.kinesis(clouds.url), [type]);
    const other = await subscribe(api, targets.datadog(clouds.url), [type]);
    await policies("a");
    await clouds.count("PutRecords", 1);
    await policies("b");
    await delivery(other.destination.id, (now) => now.delivered === 2);
    const { delivered, state } = await delivery(stuck.destination.id, () => true);
    assert.deepEqual([delivered, state], [0, "delivering"]);
  });
});

describe("destinations in the clouds", () => {
  it("cloud destinations are refused with the fault in their names", async () => {
    const api = await startApi(sqlite);
    try {
      const wrong = [
        { kinesis: { auth: { creds }, stream_arn: arn("firehose", "stream/events") } },
        { kinesis: { auth: { creds }, stream_arn: "arn:aws:kinesis:evil.example/:123456789012:stream/x" } },
        { firehose: { auth: { creds }, delivery_stream_arn: arn("firehose", "stream/x") } },
        { cloudwatch_logs: { auth: { creds }, log_group_arn: "arn:aws:logs::123456789012:log-group:x" } },
        { kinesis: { auth: {}, stream_arn: arn("kinesis", "stream/x") } },
        { kinesis: { auth: { role: { role_arn: "events" } }, stream_arn: arn("kinesis", "stream/x") } },
        { datadog: { api_key: "line\r\nbreak" } },
        { datadog: { api_key: datadogKey, ddsite: "datadoghq.com/evil" } },
        { datadog: { api_key: datadogKey, endpoint: "https://user:password@example.com/" } },
      ];
      for (const target of wrong) {
        const { status, text } = await api.request("POST", "/event_destinations", { body: { target } });
        assert.equal(status, 400, JSON.stringify(target));
        assert.doesNotMatch(text, /wJalrXUtnFEMI/);
      }
    } finally {
      await api.stop();
    }
  });
});
