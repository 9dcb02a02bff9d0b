/** Events of traffic: the control plane's side, with an edge in the test's hands. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Downward } from "../../src/routing/planes/messages.ts";
import type { ConnectionReport, RequestReport, TrafficWanted } from "../../src/routing/planes/traffic.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { datadogKey, startClouds } from "../support/clouds.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";
import type { Receiver } from "../support/receiver.ts";

const http = "http_request_complete.v0";
const tcp = "tcp_connection_closed.v0";
const endedAt = Date.now();

function shared(accountId: string) {
  return {
    accountId,
    endedAt,
    durationMs: 12.5,
    siteId: "edghts_1",
    backendId: "bkdtg_1",
    tunnelId: "tn_1",
    source: "192.0.2.1",
    sourcePort: 4711,
    tls: { version: "TLSv1.3", cipher: "TLS_AES_128_GCM_SHA256", serverName: "shop.example.com" },
    bytesIn: 1,
    logs: [],
    bytesOut: 2,
    decision: { by: "backend", outcome: "passed", reason: "sent through tunnel tn_1" },
  } as const;
}

function request(accountId: string, id = "req_1"): RequestReport {
  return {
    ...shared(accountId),
    type: http,
    id,
    routeId: "edghtsrt_1",
    method: "GET",
    scheme: "https",
    host: "shop.example.com",
    path: "/cart",
    httpVersion: "2",
    userAgent: "test/1",
    websocket: false,
    status: 200,
    outcome: "forwarded",
    errorCode: null,
    cutShort: false,
    logins: { oauth: null, saml: null },
  };
}

function connection(accountId: string): ConnectionReport {
  return { ...shared(accountId), id: "con_1", type: tcp, protocol: "tcp", outcome: "served" };
}

for (const database of databases) {
  describe(`events of traffic on ${database.name}`, { timeout: 60_000 }, () => {
    let receiver: Receiver;
    let api: TestApi;
    let accountId: string;
    before(async () => {
      receiver = await startReceiver();
      api = await startApi(database, { allowLocalUpstreams: true, eventsCa: receiver.ca });
      accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
    });
    after(async () => {
      await api.stop();
      await receiver.stop();
    });

    const told = (): TrafficWanted[][] =>
      api.edge.received
        .filter((one): one is Extract<Downward, { type: "traffic_wanted" }> => one.type === "traffic_wanted")
        .map(({ wanted }) => [...wanted]);
    const traffic = (batch: number, reports: readonly (RequestReport | ConnectionReport)[], lost = 0): void => {
      api.edge.send({ type: "traffic", batch, reports, dropped: lost > 0 ? [[accountId, lost]] : [] });
    };
    const delivery = async (id: string, wanted: (delivery: Body) => boolean): Promise<Body> => {
      const read = (): Promise<Body> => api.ok("GET", `/event_destinations/${id}`);
      return (await eventually(read, ({ delivery }) => wanted(delivery))).delivery;
    };

    it(`events of traffic on ${database.name} are requested by account and type while there is a subscriber, and again from a new edge`, async () => {
      api.edge.send({ type: "hello", edgeId: "edge_1" });
      assert.deepEqual(told(), [[]]);
      const { subscription } = await subscribe(api, { webhook: { url: receiver.url } }, [http, "vault_created.v0"]);
      await api.ok("POST", `/event_subscriptions/${subscription.id}/sources`, { type: tcp });
      await api.ok("PATCH", `/event_subscriptions/${subscription.id}`, { description: "no change to the edge" });
      api.edge.send({ type: "hello", edgeId: "edge_2" });
      await api.ok("DELETE", `/event_subscriptions/${subscription.id}/sources/${http}`);
      await api.ok("DELETE", `/event_subscriptions/${subscription.id}`);
      const both = [{ accountId, types: [http, tcp] }];
      assert.deepEqual(told(), [[], [{ accountId, types: [http] }], both, both, [{ accountId, types: [tcp] }], []]);
    });

    it(`events of traffic on ${database.name} are posted only to subscribers`, async () => {
      const from = receiver.received.length;
      const { destination, subscription } = await subscribe(api, { webhook: { url: receiver.url } }, [http]);
      const key = (await api.ok("POST", "/accounts", { name: "another" })).api_key;
      const theirs = await subscribe(api, { webhook: { url: receiver.url } }, [http], key);
      traffic(1, [request(accountId), connection(accountId), request("ac_nobody")]);
      assert.deepEqual(api.edge.received.at(-1), { type: "traffic_taken", batch: 1 });
      await delivery(destination.id, ({ delivered }) => delivered === 1);
      const [event] = receiver.received.slice(from).map((one) => one.event);
      assert.match(event.event_id, /^ev_[0-9a-z]{27}$/);
      assert.deepEqual(
        { ...event, event_id: "" },
        {
          event_id: "",
          event_type: http,
          event_timestamp: new Date(endedAt).toISOString(),
          account_id: accountId,
          principal: null,
          object: {
            id: "req_1",
            started_at: new Date(endedAt - 12.5).toISOString(),
            ended_at: new Date(endedAt).toISOString(),
            duration_ms: 12.5,
            site_id: "edghts_1",
            backend_id: "bkdtg_1",
            tunnel_id: "tn_1",
            source_ip: "192.0.2.1",
            source_port: 4711,
            tls: { version: "TLSv1.3", cipher: "TLS_AES_128_GCM_SHA256", server_name: "shop.example.com" },
            bytes_in: 1,
            bytes_out: 2,
            decision: { by: "backend", outcome: "passed", reason: "sent through tunnel tn_1" },
            logs: [],
            route_id: "edghtsrt_1",
            method: "GET",
            scheme: "https",
            host: "shop.example.com",
            path: "/cart",
            http_version: "2",
            user_agent: "test/1",
            websocket: false,
            status_code: 200,
            outcome: "forwarded",
            error_code: null,
            cut_short: false,
            oauth: null,
            saml: null,
          },
        },
      );
      const other = await api.ok("GET", `/event_destinations/${theirs.destination.id}`, undefined, key);
      assert.equal(other.delivery.delivered, 0);
      assert.equal(receiver.received.length, from + 1);
      await api.ok("DELETE", `/event_subscriptions/${subscription.id}`);
      traffic(2, [request(accountId)]);
      assert.equal(receiver.received.length, from + 1);
    });

    it(`events of traffic on ${database.name} are dropped after no receiver accepted them for a day`, async () => {
      receiver.answers.push(500);
      const { destination, subscription } = await subscribe(api, { webhook: { url: receiver.url } }, [http]);
      traffic(1, [{ ...request(accountId), endedAt: Date.now() - 25 * 3_600_000 }]);
      const { delivered, error } = await delivery(destination.id, ({ dropped }) => dropped === 1);
      assert.deepEqual([delivered, error], [0, "the receiver answered 500"]);
      await api.ok("DELETE", `/event_subscriptions/${subscription.id}`);
    });

    it(`events of traffic on ${database.name} count as dropped when an edge reports it, and when too many wait: the latest remain`, async () => {
      const clouds = await startClouds();
      const collecting = await startApi(database, { allowLocalUpstreams: true, eventsCa: clouds.ca });
      try {
        clouds.answers.set("logs", [{ status: 503 }]);
        const account = (await collecting.ok("GET", "/accounts")).accounts.at(-1).id;
        const target = { datadog: { api_key: datadogKey, endpoint: `${clouds.url}/api/v2/logs` } };
        const { destination } = await subscribe(collecting, target, [http]);
        const status = async (wanted: (delivery: Body) => boolean): Promise<Body> => {
          const read = (): Promise<Body> => collecting.ok("GET", `/event_destinations/${destination.id}`);
          return (await eventually(read, ({ delivery }) => wanted(delivery))).delivery;
        };
        const first = [request(account, "req_first")];
        collecting.edge.send({ type: "traffic", batch: 1, reports: first, dropped: [[account, 7]] });
        await status(({ state }) => state === "retrying");
        const reports = Array.from({ length: 5_100 }, (_, index) => request(account, `req_${index}`));
        collecting.edge.send({ type: "traffic", batch: 2, reports, dropped: [] });
        assert.equal((await status(() => true)).dropped, 7 + 100);
        await status(({ delivered }) => delivered === 5_001);
        const sent = clouds.calls.slice(1).flatMap(({ input }) => input.map((one: Body) => JSON.parse(one.message)));
        const ids = new Set(sent.map(({ object }) => object.id));
        assert.deepEqual(
          [ids.size, ids.has("req_first"), ids.has("req_99"), ids.has("req_100")],
          [5_001, true, false, true],
        );
        const { text } = await collecting.request("GET", "/metrics");
        assert.match(text, /^postern_events_dropped_total 107$/m);
        assert.match(text, /^postern_event_failures_total 1$/m);
      } finally {
        await collecting.stop();
        await clouds.stop();
      }
    });
  });
}
