/** Schemes that sign the URL together with the parameters of a form. */
import { createHash, createHmac } from "node:crypto";
import { byText, formPairs } from "./form.ts";
import { isSame } from "./hmac.ts";
import { readSingle } from "./scheme.ts";
import type { Scheme, WebhookMessage } from "./scheme.ts";

type Signable = Pick<WebhookMessage, "method" | "url" | "body">;

/** Returns names and values concatenated, sorted by name. */
function joinSortedPairs(body: Buffer): string {
  return formPairs(body.toString())
    .toSorted(([one, first], [other, second]) => byText(one, other) || byText(first, second))
    .map(([name, value]) => name + value)
    .join("");
}

function urlScheme(header: string, hash: "sha1" | "sha256", text: (message: Signable) => string | undefined): Scheme {
  const digest = (secret: string, message: Signable): Buffer | undefined => {
    const signed = text(message);
    return signed === undefined ? undefined : createHmac(hash, secret).update(signed).digest();
  };
  return {
    isClaimed: (headers) => headers.getAll(header).length > 0,
    verify(secret, message) {
      const found = readSingle(message.headers, header);
      if ("wrong" in found) return found.wrong;
      const expected = digest(secret, message);
      if (!expected) return "the body does not match the hash in the URL";
      return isSame(found.value, "base64", expected) ? undefined : "the signature is another";
    },
    sign: (sample) => ({ headers: { [header]: digest(sample.secret, sample)?.toString("base64") ?? "" } }),
  };
}

/** Mandrill: URL and sorted form. */
export const mailchimp = urlScheme("x-mandrill-signature", "sha1", ({ url, body }) => url + joinSortedPairs(body));

const bodyHash = /[?&]bodySHA256=([^&#]*)/;

/**
 * For a form, the parameters are signed after the URL. Any other body is signed by its SHA-256 in the URL, which is
 * then required.
 */
const twilioBase = urlScheme("x-twilio-signature", "sha1", ({ url, body }) => {
  const claimed = bodyHash.exec(url)?.[1];
  if (claimed === undefined) return url + joinSortedPairs(body);
  return isSame(claimed, "hex", createHash("sha256").update(body).digest()) ? url : undefined;
});

export const twilio: Scheme = {
  ...twilioBase,
  sign(sample) {
    if (/^[\s]*[{[]/.test(sample.body.toString("latin1", 0, 64)) && !bodyHash.test(sample.url)) {
      const hash = createHash("sha256").update(sample.body).digest("hex");
      const url = `${sample.url}${sample.url.includes("?") ? "&" : "?"}bodySHA256=${hash}`;
      return { ...twilioBase.sign({ ...sample, url }), url };
    }
    return twilioBase.sign(sample);
  },
};

/** Plivo, version 3: URL with sorted query, sorted form, nonce; several signatures by comma. */
const plivoText = ({ method, url, body }: Signable, nonce: string): string => {
  const question = url.indexOf("?");
  const base = question < 0 ? url : url.slice(0, question);
  const query = formPairs(question < 0 ? "" : url.slice(question + 1))
    .toSorted(([one, first], [other, second]) => byText(one, other) || byText(first, second))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
  const form = method === "GET" ? "" : joinSortedPairs(body);
  const start = query === "" && form === "" ? "" : "?";
  const dot = query === "" || form === "" ? "" : ".";
  return `${base}${start}${query}${dot}${form}.${nonce}`;
};

export const plivoV3 = plivoScheme("x-plivo-signature-v3", "x-plivo-signature-v3-nonce", plivoText);
/** The same with the key of the main account, for messages of a sub-account. */
export const plivoMainV3 = plivoScheme("x-plivo-signature-ma-v3", "x-plivo-signature-v3-nonce", plivoText);

/** Plivo, version 2: URL without query, nonce. */
export const plivoV2 = plivoScheme(
  "x-plivo-signature-v2",
  "x-plivo-signature-v2-nonce",
  ({ url }, nonce) => url.split("?", 1)[0] + nonce,
);

function plivoScheme(header: string, nonceHeader: string, text: (message: Signable, nonce: string) => string): Scheme {
  const digest = (secret: string, message: Signable, nonce: string): Buffer =>
    createHmac("sha256", secret).update(text(message, nonce)).digest();
  return {
    isClaimed: (headers) => headers.getAll(header).length > 0,
    verify(secret, message) {
      const found = readSingle(message.headers, header);
      if ("wrong" in found) return found.wrong;
      const nonce = readSingle(message.headers, nonceHeader);
      if ("wrong" in nonce) return nonce.wrong;
      const expected = digest(secret, message, nonce.value);
      const holds = found.value.split(",", 16).some((one) => isSame(one.trim(), "base64", expected));
      return holds ? undefined : "the signature is another";
    },
    messageId: ({ headers }) => headers.getAll(nonceHeader)[0],
    sign(sample) {
      const nonce = String(sample.now);
      return { headers: { [header]: digest(sample.secret, sample, nonce).toString("base64"), [nonceHeader]: nonce } };
    },
  };
}
