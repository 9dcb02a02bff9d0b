/** Guesses the browser from a User-Agent header, for people who read lists of sessions. */
const browsers: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["Edge", /\bEdg(?:e|A|iOS)?\/([\d.]+)/],
  ["Opera", /\bOPR\/([\d.]+)/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/([\d.]+)/],
  ["Chrome", /\b(?:Chrome|CriOS)\/([\d.]+)/],
  ["Safari", /\bVersion\/([\d.]+).*Safari/],
  ["curl", /^curl\/([\d.]+)/],
];
const systems: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["iOS", /\b(?:iPhone|CPU) OS ([\d_]+)/],
  ["Android", /\bAndroid ([\d.]+)/],
  ["Windows", /\bWindows NT ([\d.]+)/],
  ["macOS", /\bMac OS X ([\d_.]+)/],
  ["Linux", /\bLinux\b()/],
];

export function describeUserAgent(raw: string): Readonly<Record<string, string>> {
  const [browser_name, browser_version] = findFirst(browsers, raw);
  const [os_name, os_version] = findFirst(systems, raw);
  const device_type = /\b(?:iPhone|Android.*Mobile)/.test(raw)
    ? "mobile"
    : /\b(?:iPad|Android)\b/.test(raw)
      ? "tablet"
      : "desktop";
  return {
    raw,
    browser_name,
    browser_version,
    device_type: browser_name === "" ? "" : device_type,
    os_name,
    os_version: os_version.replaceAll("_", "."),
  };
}

function findFirst(list: typeof browsers, raw: string): readonly [name: string, version: string] {
  for (const [name, pattern] of list) {
    const found = pattern.exec(raw);
    if (found) return [name, (found[1] ?? "").slice(0, 40)];
  }
  return ["", ""];
}
