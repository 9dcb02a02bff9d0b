import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { Meter } from "../../cel/values/budget.ts";
import { patternFor } from "./shared-patterns.ts";
import { compileReplacement } from "./replacement.ts";
import { encodeUrl, replaceUrl } from "./url-replace.ts";
import type { UrlParts } from "./url-replace.ts";

function meterOf(steps: number): Meter {
  const meter = new Meter();
  meter.steps = steps;
  return meter;
}

function partsOf(url: string): UrlParts {
  const [, scheme, authority, path, query] = /^(https?):\/\/([^/]+)(\/[^?]*)(\?.*)?$/s.exec(url) as unknown as string[];
  const [host, port] = (authority as string).split(":");
  const number = Number(port ?? (scheme === "https" ? 443 : 80));
  return {
    scheme: scheme as string,
    authority: authority as string,
    host: host as string,
    port: number,
    path: path as string,
    query: query ?? "",
  };
}

function replaced(url: string, from: string | undefined, to: string): string | undefined {
  const pattern = from === undefined ? undefined : patternFor(from);
  assert.ok(typeof pattern !== "string");
  const result = replaceUrl(partsOf(url), pattern, compileReplacement(to), meterOf(20_000));
  return result instanceof CelFailure ? `fault: ${result.message}` : result?.url;
}

const shop = "https://shop.example.test/a/b?x=1&y=2";

const families: Readonly<
  Record<string, readonly (readonly [url: string, from: string | undefined, to: string, result: string | undefined])[]>
> = {
  "with groups": [
    [
      "https://shop.example.test/blog/11/hello-world",
      "^(https?://[^/]+)/blog/([0-9]+)/([a-z-]+)/?$",
      "$1/index.php?p=$2&title=$3",
      "https://shop.example.test/index.php?p=11&title=hello-world",
    ],
    [
      "https://shop.example.test/old/a?b=1",
      "^https?://[^/]+/old/(.*)$",
      "https://new.example.test/n/$1",
      "https://new.example.test/n/a?b=1",
    ],
    ["http://shop.example.test/a", "^http://", "https://", "https://shop.example.test/a"],
    ["https://a.test/x/x", "x", "y", "https://a.test/y/y"],
    ["https://a.test/1", "(?P<n>\\d)", "<$1$n>", "https://a.test/%3C1$n%3E"],
    ["https://a.test/ab", "(a)(b)", "$2$1$0$3$10", "https://a.test/baab$3$10"],
    ["https://a.test/ab", "/(a)|/(z)", "/$1$2", undefined],
  ],
  "with variables": [
    [
      shop,
      undefined,
      "$scheme|$host|$port|$authority",
      "https://shop.example.test/a/https%7Cshop.example.test%7C443%7Cshop.example.test",
    ],
    [shop, undefined, "https://new.test$uri", "https://new.test/a/b?x=1&y=2"],
    [shop, undefined, "/n$is_args$args", "https://shop.example.test/n?x=1&y=2"],
    [shop, undefined, "/n$is_args$query_string", "https://shop.example.test/n?x=1&y=2"],
    ["https://a.test/b", undefined, "/n$is_args$args", "https://a.test/n"],
    [shop, undefined, "/$arg_y/$arg_x/$arg_z/end", "https://shop.example.test/2/1//end"],
    ["http://a.test:8080/b", undefined, "https://$host:$port/$authority", "https://a.test:8080/a.test:8080"],
    [shop, undefined, "https://$is_user$user$host/", "https://shop.example.test/"],
    [shop, undefined, "/$nothing$hostname$$1$", "https://shop.example.test/$nothing$hostname$$1$"],
  ],
  "made absolute": [
    [shop, undefined, "/same", "https://shop.example.test/same"],
    [shop, undefined, "c", "https://shop.example.test/a/c"],
    [shop, undefined, "?z=3", "https://shop.example.test/a/b?z=3"],
    [shop, undefined, "#f", "https://shop.example.test/a/b?x=1&y=2#f"],
    [shop, undefined, "//other.test/c", "https://other.test/c"],
    [shop, undefined, "javascript:alert(1)", "https://shop.example.test/a/javascript:alert(1)"],
  ],
  unchanged: [
    [shop, "nowhere", "/x", undefined],
    ["https://a.test/same", undefined, "/same", undefined],
    ["https://a.test/same", "/same$", "/same", undefined],
    ["https://a.test/a", "b", "b", undefined],
  ],
  "that a client tries to steer": [
    ["https://a.test/old//evil.test", "^https?://[^/]+/old(.*)$", "$1", "https://a.test//evil.test"],
    ["https://a.test/old/\\evil.test", "^https?://[^/]+/old(.*)$", "$1", "https://a.test/%5Cevil.test"],
    [
      "https://a.test/old/x\r\nset-cookie: a",
      "^https?://[^/]+/old",
      "/new",
      "fault: the URL contains a line break or NUL",
    ],
    ["https://a.test/old/ü ü", "/old", "/new", "https://a.test/new/%C3%BC%20%C3%BC"],
    ["https://a.test/old/\u{d800}", "/old", "/new", "https://a.test/new/%EF%BF%BD"],
    ["https://a.test/$1$host", "(.*)", "$1", undefined],
    ["https://a.test/x?to=$host", "/x", "/$arg_to", "https://a.test/$host?to=$host"],
  ],
};

describe("URLs replaced", () => {
  for (const [what, rows] of Object.entries(families)) {
    for (const [url, from, to, result] of rows) {
      it(`${what}: ${JSON.stringify(url)} by ${from ?? "all"} to ${to}`, () => {
        assert.equal(replaced(url, from, to), result);
      });
    }
  }

  it("URLs replaced come with their matches", () => {
    const pattern = patternFor("x+");
    assert.ok(typeof pattern !== "string");
    const result = replaceUrl(partsOf("https://a.test/xx/x"), pattern, compileReplacement("y"), meterOf(20_000));
    assert.ok(result && !(result instanceof CelFailure));
    assert.deepEqual(result.matches, ["xx", "x"]);
  });

  it("URLs replaced have a limit on length and work", () => {
    const long = `https://a.test/${"a".repeat(16_000)}`;
    assert.match(String(replaced(`${long}${"a".repeat(1000)}`, "^https", "http")), /^fault: .*longer/);
    assert.equal(replaced(`${long}${"a".repeat(1000)}`, "/b", "/c"), undefined);
    assert.match(String(replaced("https://a.test/a", undefined, "/$uri".repeat(6000))), /^fault: .*longer/);
    assert.match(String(replaced("https://a.test/aaaa", "a", "$uri".repeat(2000))), /^fault: .*longer/);
    assert.match(String(replaced(long, "(a.*z)|a", "b")), /^fault: .*more steps/);
    assert.match(String(replaced(long, undefined, `/${"ü".repeat(4000)}`)), /^fault: .*longer/);
  });

  it("URLs replaced are percent-encoded if necessary, and not twice", () => {
    assert.equal(
      encodeUrl('https://a.test/San Francisco?q=%20%zz<>"`{}|^\\'),
      "https://a.test/San%20Francisco?q=%20%25zz%3C%3E%22%60%7B%7D%7C%5E%5C",
    );
  });
});
