/** Operations that create sample webhooks with the provider's signature, to send or to pass to `explain`. */
import { Refusal } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { f } from "../../schema/fields.ts";
import type { StringFormat } from "../../schema/fields.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Store } from "../../storage/store.ts";
import { providers } from "../../webhooks/webhook-providers.ts";
import { signSample } from "../../webhooks/webhook-verification.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { listSchema, object, textSchema } from "../operation/shapes.ts";

const publicUrl: StringFormat = {
  name: "url",
  example: "https://hooks.example.com/github",
  check: (given) => (/^https?:$/.test(URL.parse(given)?.protocol ?? "") ? undefined : "be an https:// or http:// URL"),
};

const fields = {
  provider: f.oneOf("The provider.", Object.keys(providers).sort() as [string, ...string[]], { required: true }),
  secret: f.string("Secret that you share with the provider; for SendGrid the private key.", {
    maxBytes: 4096,
    secret: true,
  }),
  url: f.string("Target URL: some providers include it in the signature.", {
    required: true,
    maxBytes: 4096,
    format: publicUrl,
  }),
  body: f.string("Its body.", { maxBytes: 524_288, default: "{}" }),
};

const sampleSchema = object("A webhook as the provider would send it, by POST.", {
  url: textSchema("Where to."),
  headers: listSchema(
    "Header fields.",
    object("One header field.", { name: textSchema("Name, lower case."), value: textSchema("Value.") }),
  ),
  body: textSchema("Body."),
});

export function webhookOperations(store: Pick<Store, "revision">, clock: Clock): Operation[] {
  return [
    {
      id: "signWebhook",
      method: "POST",
      path: "/webhooks/sign",
      summary: "Sign a sample webhook as its provider would. Nothing is stored or sent.",
      reads: true,
      takes: "object",
      status: 200,
      input: fields,
      exampleBody: { provider: "github", secret: "s3cret", url: "https://hooks.example.com/github", body: "{}" },
      replySchema: "SignedWebhook",
      schemas: { SignedWebhook: sampleSchema },
      exampleReply: {
        url: "https://hooks.example.com/github",
        headers: [{ name: "x-hub-signature-256", value: "sha256=0f5e…" }],
        body: "{}",
      },
      run: (call) => replySigned(call, store.revision, clock.now()),
    },
  ];
}

function replySigned(call: Call, revision: number, now: number): Reply {
  const { doc, issues } = parseFields(fields, call.body, "create");
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const { provider, secret, url, body } = doc as Record<keyof typeof fields, string>;
  try {
    const made = signSample(provider, { secret, url, body: Buffer.from(body), now });
    const type = /^\s*[[{]/.test(body) ? "application/json" : "application/x-www-form-urlencoded";
    const headers = Object.entries({ "content-type": type, ...made.headers });
    const sample = {
      url: made.url ?? url,
      headers: headers.map(([name, value]) => ({ name: name.toLowerCase(), value })),
      body: (made.body ?? Buffer.from(body)).toString(),
    };
    return { status: 200, body: JSON.stringify(sample), revision };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const message = `cannot sign for "${provider}": ${(error as Error).message}`;
    throw inputRefusal(call.operation.id, [{ path: "secret", message }]);
  }
}
