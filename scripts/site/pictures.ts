/** Pictures of the console in the documentation, and their views. `npm run screenshots` creates them. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { resources } from "../../src/resources/index.ts";

export const pictureFolder = "docs/guides/console";

/** Name of a picture → route of its view. `EDGE` and `POLICY` are placeholders for ids of the sample objects. */
export const pictures = {
  overview: "overview",
  traffic: "traffic",
  edge: "edges/EDGE",
  policy: "edges/EDGE",
  publish: "publish",
  explain: "explain",
  history: "history",
  objects: "objects/ip_policy_rule",
  object: "objects/ip_policy/POLICY",
  people: "people",
  logins: "logins",
  webhooks: "webhooks",
  events: "events",
} as const satisfies Readonly<Record<string, string>>;

export type PictureName = keyof typeof pictures;

/**
 * Returns pictures that are missing or unused, or whose view has a different route now, one sentence each.
 * @param shown the routes of pictures, which tests replace
 */
export function faultsOfPictures(shown: Readonly<Record<string, string>> = pictures): readonly string[] {
  const routes = routesOfConsole();
  const kinds = new Set(resources.map(({ name }) => name));
  const texts = globSync(["README.md", "docs/guides/*.md"]).map((file) => readFileSync(file, "utf8"));
  const faults: string[] = [];
  for (const [name, route] of Object.entries(shown)) {
    const file = `${pictureFolder}/${name}.webp`;
    const [view = "", kind = ""] = route.split("/");
    if (!routes.has(view)) faults.push(`${file} shows the view "${view}", which the console does not have`);
    else if (view === "objects" && !kinds.has(kind))
      faults.push(`${file} shows objects of "${kind}", which do not exist`);
    if (!existsSync(file)) faults.push(`${file} is missing: run \`npm run screenshots\``);
    if (!texts.some((text) => text.includes(`console/${name}.webp`))) faults.push(`${file} is shown by no page`);
  }
  for (const file of globSync("*.webp", { cwd: pictureFolder })) {
    if (!Object.hasOwn(shown, file.slice(0, -".webp".length))) {
      faults.push(`${pictureFolder}/${file} is in no list: add its view to scripts/site/pictures.ts`);
    }
  }
  return faults;
}

/** Returns the views of the console's page. */
function routesOfConsole(): ReadonlySet<string> {
  const page = readFileSync("console/src/console/main.tsx", "utf8");
  const [, choice = ""] = /^function View\([^]*?switch \(view\) \{([^]*?)^\}/m.exec(page) ?? [];
  return new Set([...choice.matchAll(/case "([\w-]+)":/g)].map(([, view = ""]) => view));
}
