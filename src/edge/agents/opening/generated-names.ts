/** Host names of endpoints: valid requested names, and generated ones for agents that request none. */
import { createHash } from "node:crypto";
import { hostIssue } from "../../../lib/hostport.ts";

/** Short, well known and harmless in every combination. */
const qualities =
  "able agile amber ample apt azure bold brave breezy bright brisk calm candid clear clever cosy crisp deft eager early even fair fine firm fleet fond free fresh gentle glad golden grand green handy happy hardy honest humble ideal jade jolly keen kind lively loyal lucid lucky mellow merry mild neat nimble noble olive opal patient placid plain polite prime proud quick quiet rapid ready regal robust rosy royal ruby rustic serene sharp shiny silent silver simple sleek smart smooth snug solid steady still sturdy sunny sure swift tidy tranquil true trusty velvet vivid warm wise witty zesty".split(
    " ",
  );
const things =
  "acorn alder anchor apple arch aspen badger barley basil bay beacon birch bloom bridge brook canal canoe cedar cherry cliff clover cloud comet coral cove crane creek dawn delta dove dune elm ember falcon fern field finch fjord forest fox garden glade grove gull harbor hawk hazel heron hill holly island ivy juniper kite lagoon lake lantern lark laurel leaf lily linden lotus maple marsh meadow mill moss oak oasis ocean olive orchard otter owl palm path pebble pine pond poplar quail quarry raven reed ridge river robin rose sage sail shore sparrow spring spruce star stone stream summit swan thistle trail tulip valley vine violet wave willow wren".split(
    " ",
  );

/**
 * Returns a name such as `calm-otter-4f0k2m`, which is always the same for the same parts. In addition to the words it
 * has 31 bits of their hash, so that a collision by chance is unlikely.
 */
export function generatedName(parts: readonly string[]): string {
  const digest = createHash("sha256").update(parts.join("\0")).digest();
  const quality = qualities[digest.readUInt32BE(0) % qualities.length];
  const thing = things[digest.readUInt32BE(4) % things.length];
  const tail = (digest.readUInt32BE(8) % 36 ** 6).toString(36).padStart(6, "0");
  return `${quality}-${thing}-${tail}`;
}

/**
 * Returns a host name or a wildcard such as `*.example.com`, in lower case without trailing dot. Undefined for anything
 * else.
 */
export function hostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  return hostIssue(name) === undefined ? name : undefined;
}
