/** The reference page at `/docs`. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import { html, renderProse } from "../../src/api/description/reference/html.ts";
import { catalogue, errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

describe("the reference page", () => {
  let api: TestApi;
  let page: ApiResponse;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
    page = await api.request("GET", "/docs", { headers: { authorization: undefined, "service-version": undefined } });
  });
  after(() => api.stop());

  it("the reference page is HTML, for anyone", () => {
    assert.equal(page.status, 200);
    assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
    assert.match(page.text, /^<!doctype html>\n<html lang="en">/);
  });

  it("P3: the reference page runs its own script alone, loads nothing and cannot be framed", () => {
    const policy = page.headers["content-security-policy"] ?? "";
    assert.match(
      policy,
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'$/,
    );
    for (const element of ["style", "script"]) {
      const text = new RegExp(`<${element}>([^]*?)</${element}>`).exec(page.text)?.[1] ?? "";
      assert(policy.includes(`${element}-src 'sha256-${createHash("sha256").update(text).digest("base64")}'`), element);
    }
    assert.equal(page.text.match(/<script/g)?.length, 1);
    assert.doesNotMatch(page.text, /<link|<img|<iframe|\son\w+=|\sstyle=|\ssrc=/);
    assert.deepEqual(
      [page.headers["x-content-type-options"], page.headers["referrer-policy"]],
      ["nosniff", "no-referrer"],
    );
  });

  it("the reference page has every operation with an example, and every error", () => {
    for (const { id, method, path } of describedOperations()) {
      const section = new RegExp(`<details id="${id}" data-entry>([^]*?)</details>`).exec(page.text)?.[1] ?? "";
      assert(section.includes(`<code>${path}</code>`), id);
      assert.match(
        section,
        new RegExp(`<pre>curl ${method === "GET" ? "" : `-X ${method} `}&quot;\\$POSTERN_API_URL`),
        id,
      );
    }
    for (const name of Object.keys(catalogue) as RefusalName[]) {
      assert(page.text.includes(`<tr id="error-${name}" data-entry>\n<td><code>${errorCode(name)}</code>`), name);
    }
  });

  it("the reference page shows an operation's answers, and their header fields", () => {
    const create = /<details id="createAPIKey" data-entry>([^]*?)<\/details>/.exec(page.text)?.[1] ?? "";
    assert.match(create, /Headers of 201: [^]*<code>ETag<\/code>/);
    assert.match(create, /<pre>\{\n  &quot;id&quot;: &quot;ak_[^]*&quot;token&quot;: &quot;postern_ak_/);
    const health = /<details id="getHealth" data-entry>([^]*?)<\/details>/.exec(page.text)?.[1] ?? "";
    assert.match(health, /<pre>ok\n<\/pre>/);
    assert.match(page.text, /<code>Retry-After<\/code><\/td>/);
  });

  it("the reference page shows the limits of fields", () => {
    const create = /<details id="createIPPolicyRule" data-entry>([^]*?)<\/details>/.exec(page.text)?.[1] ?? "";
    assert.match(create, /<code>cidr<\/code> <span class="dim">required<\/span>/);
    assert.match(create, /id of an ip policy/);
    assert.match(create, /<code>description<\/code><\/td>[^]*?at most 255 bytes/);
  });

  it("the reference page has no link that leads nowhere, and no name twice", () => {
    const names = [...page.text.matchAll(/\sid="([^"]+)"/g)].map(([, name]) => name as string);
    assert.equal(new Set(names).size, names.length);
    const links = [...page.text.matchAll(/href="#([^"]+)"/g)].map(([, name]) => name as string);
    assert(links.length > 100);
    assert.deepEqual([...new Set(links.filter((name) => !names.includes(name)))], []);
  });

  it("the reference page is compressed for clients that accept it", async () => {
    const answer = await fetch(`${api.baseUrl}/docs`, { headers: { "accept-encoding": "gzip" } });
    assert.equal(answer.headers.get("content-encoding"), "gzip");
    assert(Number(answer.headers.get("content-length")) < page.text.length / 5);
    assert.equal(await answer.text(), page.text);
    assert.equal(page.headers["content-encoding"], undefined);
  });

  it("the reference page escapes whatever the declarations say", () => {
    assert.equal(
      html`<b>${'<i a="1">&'}</b>${html`<u>${1}</u>`}`.html,
      "<b>&lt;i a=&quot;1&quot;&gt;&amp;</b><u>1</u>",
    );
    assert.equal(renderProse("a `<b>` & c").html, "a <code>&lt;b&gt;</code> &amp; c");
  });
});

describe("the reference of metrics", () => {
  it("the reference of metrics has every metric that the control plane shows, with its labels", async () => {
    const api = await startApi(databases[0] as (typeof databases)[number]);
    const { text } = await api.request("GET", "/metrics");
    await api.stop();
    const reference = readFileSync("docs/reference/metrics.md", "utf8");
    const samples = [...text.matchAll(/^(postern_\w+)(?:\{(.*)\})?/gm)];
    assert(samples.length > 5);
    for (const [, name, labels = ""] of samples) {
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``);
      const row = new RegExp(`^\\| \`${name}\` \\| \\w+ \\| (.*?) \\|`, "m").exec(reference);
      assert.equal(row?.[1], names.join(", "), String(name));
    }
  });
});
