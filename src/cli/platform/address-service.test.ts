import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "../../lib/http.ts";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { country, mmdbOf } from "../../../test/support/mmdb.ts";
import { AddressBook } from "../../geo/address-book.ts";
import type { AddressData } from "../../geo/address-book.ts";
import { silentLog } from "../../lib/log.ts";
import type { CategoryPlace } from "../../settings/kinds/address-category.ts";
import { Failure } from "../process/exit.ts";
import { AddressService } from "./address-service.ts";

const builtAt = Date.UTC(2026, 10, 1);
const dayMs = 86_400_000;
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Given {
  readonly databases?: readonly string[];
  readonly categories?: readonly CategoryPlace[];
  readonly days?: number;
  readonly folder?: string;
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "postern-addresses-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open({ databases = [], categories = [], days = 10, folder = temporary() }: Given) {
  const clock = makeManualClock(builtAt + days * dayMs);
  const book = new AddressBook(() => {});
  const problems = new Map<string, string>();
  const changes: AddressData[] = [];
  const service = new AddressService({
    settings: { geoDatabase: databases, ipCategory: categories },
    data: folder,
    clock,
    log: silentLog,
    changed(data) {
      changes.push(data);
      book.take(data);
    },
    problem: ({ part, message }) => (message === undefined ? problems.delete(part) : problems.set(part, message)),
  });
  stops.push(() => service.stop());
  const start = async (): Promise<void> => {
    await service.start();
    if (service.data) book.take(service.data);
  };
  /** Two looks at the files, as the watch makes them. */
  const watch = async (): Promise<void> => {
    await service.look(false);
    await service.look(false);
  };
  return { service, clock, book, problems, changes, folder, start, watch };
}

/** Replaces a file as careful programs do. */
function replace(path: string, bytes: string | Buffer): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

describe("files of locations", () => {
  it("D12: files of locations are read again when they change, and a truncated or damaged one leaves the old one", async () => {
    const path = join(temporary(), "countries.mmdb");
    const whole = mmdbOf({ "192.0.2.0/24": country("DE") }, { builtAt });
    writeFileSync(path, whole);
    const { book, problems, start, watch } = open({ databases: [path] });
    await start();
    const code = (): string => book.locate("192.0.2.1").countryCode;
    assert.equal(code(), "DE");
    truncateSync(path, whole.length - 30);
    await watch();
    assert.equal(code(), "DE");
    assert.match([...problems.values()].join(), /countries\.mmdb" cannot be used, so its earlier content stays: \w/);
    replace(path, "<!doctype html>");
    await watch();
    assert.equal(code(), "DE");
    rmSync(path);
    await watch();
    assert.equal(code(), "DE");
    assert.match([...problems.values()].join(), /ENOENT/);
    replace(path, mmdbOf({ "192.0.2.0/24": country("FR") }, { builtAt }));
    await watch();
    assert.equal(code(), "FR");
    assert.deepEqual([...problems], []);
  });

  it("files of locations are not read while they grow", async () => {
    const path = join(temporary(), "countries.mmdb");
    writeFileSync(path, mmdbOf({ "192.0.2.0/24": country("DE") }, { builtAt }));
    const { service, changes, problems, start } = open({ databases: [path] });
    await start();
    const next = mmdbOf({ "192.0.2.0/24": country("FR") }, { builtAt });
    for (const length of [100, 200, next.length]) {
      writeFileSync(path, next.subarray(0, length));
      await service.look(false);
      assert.deepEqual([changes.length, problems.size], [0, 0]);
    }
    await service.look(false);
    assert.equal(changes.length, 1);
  });

  it("D12: files of locations that cannot be used stop a start, with the file and the reason", async () => {
    const folder = temporary();
    writeFileSync(join(folder, "page.mmdb"), "<!doctype html>");
    writeFileSync(join(folder, "list.txt"), "not a list");
    const list = { name: "a", place: join(folder, "list.txt"), isUrl: false };
    const starts: readonly (readonly [Given, RegExp])[] = [
      [{ databases: [join(folder, "missing.mmdb")] }, /missing\.mmdb" for --geo-database: ENOENT/],
      [{ databases: [join(folder, "page.mmdb")] }, /page\.mmdb" for --geo-database: it has no metadata/],
      [{ databases: [folder] }, /for --geo-database/],
      [{ categories: [list] }, /list\.txt" for --ip-category: line 1 is "not a list"/],
    ];
    for (const [given, message] of starts) {
      await assert.rejects(
        open(given).start(),
        (error: Error) => error instanceof Failure && message.test(error.message),
      );
    }
  });

  it("D12: files of locations that are too large are refused before they are read", async () => {
    const path = join(temporary(), "huge.mmdb");
    writeFileSync(path, "");
    truncateSync(path, 600 * 1024 * 1024);
    await assert.rejects(open({ databases: [path] }).start(), /has 629145600 bytes, at most 536870912 are read/);
  });

  it("several databases complete each other, and the built-in countries load only if no other database has countries", async () => {
    const folder = temporary();
    const [networks, countries] = [join(folder, "asn.mmdb"), join(folder, "countries.mmdb")];
    writeFileSync(networks, mmdbOf({ "8.8.8.0/24": { autonomous_system_number: 64500 } }, { builtAt }));
    writeFileSync(countries, mmdbOf({ "8.8.8.0/24": country("DE") }, { builtAt }));
    const own = open({ databases: [networks, countries] });
    await own.start();
    assert.deepEqual([own.book.locate("8.8.8.8").countryCode, own.book.locate("8.8.8.8").asNumber], ["DE", 64500]);
    const withShipped = open({ databases: [networks] });
    await withShipped.start();
    const { countryCode, asNumber } = withShipped.book.locate("8.8.8.8");
    assert.deepEqual([countryCode, asNumber], ["US", 64500]);
    const idle = open({});
    await idle.start();
    assert.equal(idle.service.data, undefined);
    await idle.service.wanted();
    assert.equal(idle.book.locate("8.8.8.8").countryCode, "US");
    assert.equal(idle.book.locate("192.168.1.1").countryCode, "");
  });

  it("files of locations that are older than 120 days are a problem, until newer ones are read", async () => {
    const path = join(temporary(), "countries.mmdb");
    writeFileSync(path, mmdbOf({ "192.0.2.0/24": country("DE") }, { builtAt }));
    const { problems, start, watch } = open({ databases: [path], days: 130 });
    await start();
    assert.match([...problems.values()].join(), /countries\.mmdb" is from 2026-11-01, 130 days ago/);
    replace(path, mmdbOf({ "192.0.2.0/24": country("DE") }, { builtAt: builtAt + 100 * dayMs }));
    await watch();
    assert.deepEqual([...problems], []);
  });
});

describe("a list of a category", () => {
  it("D12: a list of a category at a URL is refreshed, and its last good copy survives bad responses and restarts", async () => {
    let respond: (response: ServerResponse) => void = (response) => response.end("192.0.2.0/24\n");
    const server = createServer((_request, response) => respond(response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    stops.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`;
    const categories = [{ name: "proxy.anonymous.tor", place: url, isUrl: true }];
    const folder = temporary();
    const { book, clock, problems, changes, service, start } = open({ categories, folder });
    await start();
    const told = (): string => [...problems.values()].join();
    const names = (): readonly string[] => book.categoriesOf("192.0.2.7");
    await eventually(names, ({ length }) => length > 0);
    assert.deepEqual(names(), ["proxy.anonymous.tor", "proxy.anonymous", "proxy"]);
    const bad: readonly (readonly [(response: ServerResponse) => void, RegExp])[] = [
      [(response) => response.writeHead(500).end(), /status 500/],
      [(response) => response.writeHead(302, { location: "/other" }).end(), /status 302/],
      [(response) => response.end("<!doctype html>"), /line 1 is "<!doctype html>"/],
      [(response) => response.end(Buffer.alloc(17 * 1024 * 1024, "192.0.2.1\n")), /answer is too long/],
      [(response) => response.destroy(), /hang up|closed|reset/i],
    ];
    let pause = 3_600_000;
    for (const [answer, message] of bad) {
      respond = answer;
      problems.clear();
      clock.pass(pause);
      pause = 300_000;
      await eventually(told, (text) => message.test(text));
      assert.match([...problems.values()].join(), /its last good copy stays/);
      assert.equal(names().length, 3);
    }
    // A server that never answers.
    const asked = Promise.withResolvers<void>();
    respond = () => asked.resolve();
    problems.clear();
    clock.pass(pause);
    await asked.promise;
    clock.pass(30_000);
    await eventually(told, (text) => text.includes("no answer within 30 s"));
    service.stop();
    const restarted = open({ categories, folder });
    await restarted.start();
    assert.equal(restarted.book.categoriesOf("192.0.2.7").length, 3);
    assert.equal(changes.length, 2);
  });

  it("a list of a category in a file is read again when it changes", async () => {
    const path = join(temporary(), "office.txt");
    writeFileSync(path, "192.0.2.0/24\n");
    const { book, problems, start, watch } = open({ categories: [{ name: "office", place: path, isUrl: false }] });
    await start();
    assert.deepEqual(book.categoriesOf("192.0.2.7"), ["office"]);
    replace(path, "everything");
    await watch();
    assert.deepEqual(book.categoriesOf("192.0.2.7"), ["office"]);
    assert.equal(problems.size > 0, true);
    replace(path, "198.51.100.0/24\n");
    await watch();
    assert.deepEqual(book.categoriesOf("192.0.2.7"), []);
    assert.deepEqual(book.categoriesOf("198.51.100.7"), ["office"]);
  });
});
