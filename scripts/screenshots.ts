/**
 * Takes pictures of the console for the documentation from a running server: each view light, dark and narrow, side by
 * side. Run `npm run screenshots` after a change of the console.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "../test/support/chromium.ts";
import { root } from "../test/support/command.ts";
import { startPlatform } from "../test/support/platform.ts";
import type { TestPlatform } from "../test/support/platform.ts";
import { startHttpService } from "../test/support/services.ts";
import { pictureFolder, pictures } from "./site/pictures.ts";
import type { PictureName } from "./site/pictures.ts";

const folder = join(root, pictureFolder);
const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 800 };
/** Pixels of the picture for each pixel of the page. */
const scale = 0.55;
const gap = 12;

interface Seeded {
  readonly edgeId: string;
  readonly policyId: string;
}

async function seedPlatform(platform: TestPlatform): Promise<Seeded> {
  const make = async (path: string, body: object) => (await platform.api("POST", path, body)).body;
  const policy = await make("/ip_policies", { description: "the office" });
  await make("/ip_policy_rules", { ip_policy_id: policy.id, cidr: "198.51.100.0/24", action: "allow" });
  await make("/ip_policy_rules", { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" });
  const backend = await make("/backends/tunnel_group", { description: "shop", labels: { service: "shop" } });
  const host = `shop.localhost:${platform.httpsPort}`;
  const edge = await make("/edges/https", { description: "the shop", hostports: [host] });
  const route = (match: string, modules: object) =>
    make(`/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match,
      backend: { backend_id: backend.id },
      ...modules,
    });
  await route("/", { compression: {}, ip_restriction: { ip_policy_ids: [policy.id] } });
  await route("/admin", { user_agent_filter: { allow: [], deny: ["curl"] } });
  await route("/hooks", { webhook_verification: { provider: "github", secret: "s3cret" } });
  await route("/staff", { oidc: { issuer: "https://login.example.com", client_id: "shop", client_secret: "s3cret" } });
  const destination = await make("/event_destinations", {
    description: "a file of ours",
    target: { file: { name: "events.jsonl" } },
  });
  await make("/event_subscriptions", {
    description: "who may pass",
    sources: [{ type: "ip_policy_updated.v0" }, { type: "ip_policy_rule_created.v0" }],
    destination_ids: [destination.id],
  });
  await platform.api("PATCH", `/ip_policies/${policy.id}`, { metadata: "team-a" });
  for (const path of ["/", "/cart", "/cart/7", "/search?q=lamp"]) await platform.request(`https://${host}${path}`);
  await platform.request(`https://${host}/admin`, { headers: { "user-agent": "curl/8.0" } });
  await platform.request(`https://${host}/hooks`, { method: "POST" });
  for (const [email, role] of [
    ["ann@example.com", "admin"],
    ["ben@example.com", "editor"],
  ])
    await make("/person_invitations", { email, role });
  return { edgeId: edge.id, policyId: policy.id };
}

const clickButton = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click();

/** Actions in a view before its picture is taken. */
const work: Partial<Record<PictureName, (page: Page) => Promise<void>>> = {
  overview: (page) => page.locator(".charts svg").first().waitFor(),
  traffic: (page) => page.locator(".requests button", { hasText: "/admin" }).first().click(),
  edge: (page) => page.locator("summary", { hasText: "/hooks" }).click(),
  policy: async (page) => {
    await page.locator("summary").filter({ hasText: /^4/ }).click();
    const item = page.locator("details[open] li").filter({ hasText: "Traffic policy" }).first();
    await item.getByRole("button", { name: "Set" }).click();
    await page.getByRole("textbox", { name: "Policy" }).waitFor();
    await page.getByLabel("Start with an example").selectOption("Limit requests for each address");
  },
  explain: (page) => clickButton(page, "Explain"),
  history: (page) => page.locator("summary").first().click(),
  object: async (page) => {
    await page.getByRole("textbox", { name: "Address", exact: true }).fill("198.51.100.7");
    await clickButton(page, "Ask");
  },
  webhooks: (page) => clickButton(page, "Sign and check"),
  events: (page) => page.getByRole("link", { name: "Watch sent events" }).click(),
};

async function takeShots(
  page: Page,
  path: string,
  prepare: ((page: Page) => Promise<void>) | undefined,
): Promise<Buffer[]> {
  const made: Buffer[] = [];
  for (const [size, colorScheme] of [
    [wide, "light"],
    [wide, "dark"],
    [narrow, "light"],
  ] as const) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { origin } = new URL(page.url());
    await page.goto(`${origin}/#/nowhere`);
    // The view of the previous picture has closed when this text is visible.
    await page.getByText("This page does not exist.").waitFor();
    await page.goto(`${origin}/#/${path}`);
    await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForLoadState("networkidle").catch(() => undefined);
    await prepare?.(page);
    await page.waitForTimeout(600);
    made.push(await page.screenshot());
  }
  return made;
}

/** Runs in the browser, which can write WebP. It is a text because scripts are compiled without browser types. */
const compose = `async ([all, factor, between]) => {
  const images = await Promise.all(all.map(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    return image;
  }));
  const sizes = images.map(({ width, height }) => [Math.round(width * factor), Math.round(height * factor)]);
  const whole = document.createElement("canvas");
  whole.width = sizes.reduce((sum, [width]) => sum + width, 0) + between * (sizes.length - 1);
  whole.height = Math.max(...sizes.map(([, height]) => height));
  const context = whole.getContext("2d");
  context.imageSmoothingQuality = "high";
  let left = 0;
  images.forEach((image, at) => {
    const [width, height] = sizes[at];
    context.drawImage(image, left, 0, width, height);
    left += width + between;
  });
  return whole.toDataURL("image/webp", 0.8);
}`;

/** Combines several pictures into one. */
async function sideBySide(canvas: Page, pictures: readonly Buffer[]): Promise<Buffer> {
  const sources = pictures.map((one) => `data:image/png;base64,${one.toString("base64")}`);
  const url = String(await canvas.evaluate(`(${compose})(${JSON.stringify([sources, scale, gap])})`));
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

async function takeScreenshots(platform: TestPlatform, chromium: Browser): Promise<void> {
  const service = await startHttpService((_request, response) => response.end("the shop"));
  await platform.startAgent({ upstream: service.port, labels: { service: "shop" } });
  const seeded = await seedPlatform(platform);
  const page = await chromium.newPage();
  const canvas = await chromium.newPage();
  await page.goto((await platform.api("POST", "/console_links")).body.url as string);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  mkdirSync(folder, { recursive: true });
  for (const [name, route] of Object.entries(pictures) as [PictureName, string][]) {
    const path = route.replace("EDGE", seeded.edgeId).replace("POLICY", seeded.policyId);
    const picture = await sideBySide(canvas, await takeShots(page, path, work[name]));
    writeFileSync(join(folder, `${name}.webp`), picture);
    process.stdout.write(`${name}.webp: ${Math.round(picture.length / 1024)} KiB\n`);
  }
  await service.stop();
}

const [platform, chromium] = await Promise.all([startPlatform({ drainMs: 50 }), startChromium()]);
try {
  await takeScreenshots(platform, chromium);
} finally {
  await chromium.close();
  await platform.stop();
}
