/** Schemes of single providers that the table cannot describe. */
import { captureWork } from "../lib/heartbeat.ts";
import { createHmac, createPrivateKey, createSign, createVerify } from "node:crypto";
import { escape } from "node:querystring";
import { byText } from "./form.ts";
import { isSame } from "./hmac.ts";
import { defaultToleranceSeconds, readSingle, checkStaleness } from "./scheme.ts";
import type { Scheme, WebhookMessage } from "./scheme.ts";
import { ecdsaPublicKey } from "./secret-formats.ts";

/** The header contains the secret itself. It proves the sender, but not the content. */
export function sharedTokenScheme(header: string): Scheme {
  return {
    isClaimed: (headers) => headers.getAll(header).length > 0,
    verify(secret, { headers }) {
      const found = readSingle(headers, header);
      if ("wrong" in found) return found.wrong;
      return isSame(found.value, "utf8", Buffer.from(secret)) ? undefined : "the token is another";
    },
    sign: ({ secret }) => ({ headers: { [header]: secret } }),
  };
}

/** HTTP Basic; the secret is `user::password`. */
export const basicCredentials: Scheme = {
  isClaimed: (headers) => headers.getAll("authorization").length > 0,
  verify(secret, { headers }) {
    const found = readSingle(headers, "authorization");
    if ("wrong" in found) return found.wrong;
    const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(found.value)?.[1];
    if (encoded === undefined) return "the header authorization is not Basic";
    const given = Buffer.from(encoded, "base64").toString();
    return isSame(given, "utf8", Buffer.from(secret.replace("::", ":"))) ? undefined : "the credentials are others";
  },
  sign: ({ secret }) => ({
    headers: { authorization: `Basic ${Buffer.from(secret.replace("::", ":")).toString("base64")}` },
  }),
};

/** SendGrid: ECDSA P-256 over timestamp and body. The secret is the public key, base64 of DER. */
const sendgridHeaders = {
  signature: "x-twilio-email-event-webhook-signature",
  time: "x-twilio-email-event-webhook-timestamp",
};

export const sendgrid: Scheme = {
  isClaimed: (headers) => headers.getAll(sendgridHeaders.signature).length > 0,
  verify(secret, { headers, body }, now) {
    const found = readSingle(headers, sendgridHeaders.signature);
    if ("wrong" in found) return found.wrong;
    const time = readSingle(headers, sendgridHeaders.time);
    if ("wrong" in time) return time.wrong;
    const at = /^[0-9]{1,12}$/.test(time.value) ? Number(time.value) * 1000 : Number.NaN;
    const stale = checkStaleness(at, now, defaultToleranceSeconds);
    if (stale) return stale;
    const check = createVerify("sha256").update(time.value).update(body);
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(found.value)) return "the signature is not base64";
    return check.verify(ecdsaPublicKey(secret), found.value, "base64") ? undefined : "the signature is another";
  },
  /** Signing needs the private key: `secret` is base64 of its PKCS #8 DER. */
  sign({ secret, body, now }) {
    const time = String(Math.floor(now / 1000));
    const key = createPrivateKey({ key: Buffer.from(secret, "base64"), format: "der", type: "pkcs8" });
    const signature = createSign("sha256").update(time).update(body).sign(key, "base64");
    return { headers: { [sendgridHeaders.signature]: signature, [sendgridHeaders.time]: time } };
  },
};

/** Mailgun: the signature is in the body and covers a time and a token. */
export const mailgun: Scheme = {
  isClaimed: () => true,
  verify(secret, { body }, now) {
    const { signature } = (parseJson(body) ?? {}) as { signature?: Record<string, unknown> };
    const { timestamp, token, signature: given } = signature ?? {};
    if (typeof given !== "string" || typeof token !== "string" || !["string", "number"].includes(typeof timestamp)) {
      return "the body holds no signature";
    }
    const stale = checkStaleness(Number(timestamp) * 1000, now, defaultToleranceSeconds);
    if (stale) return stale;
    const expected = createHmac("sha256", secret)
      .update(`${String(timestamp)}${token}`)
      .digest();
    return isSame(given, "hex", expected) ? undefined : "the signature is another";
  },
  messageId({ body }) {
    const { signature } = (parseJson(body) ?? {}) as { signature?: { token?: unknown } };
    return typeof signature?.token === "string" ? signature.token : undefined;
  },
  sign({ secret, body, now }) {
    const timestamp = String(Math.floor(now / 1000));
    const token = createHmac("sha256", secret).update(body).digest("hex").slice(0, 50);
    const signature = createHmac("sha256", secret)
      .update(timestamp + token)
      .digest("hex");
    const event = (parseJson(body) ?? {}) as object;
    return { headers: {}, body: Buffer.from(JSON.stringify({ ...event, signature: { timestamp, token, signature } })) };
  },
};

/** Contentful: method, path, named headers and body, one per line. */
const contentfulHeaders = {
  signature: "x-contentful-signature",
  names: "x-contentful-signed-headers",
  time: "x-contentful-timestamp",
};
const contentfulToleranceSeconds = 30;

function contentfulDigest(
  secret: string,
  { method, url, body }: Omit<WebhookMessage, "headers">,
  fields: readonly string[],
): Buffer {
  const [pathname = "", search = ""] = url.slice(url.indexOf("/", "https://".length)).split("?");
  const path = encodeURI(search === "" ? pathname : `${pathname}?${escape(search)}`);
  return createHmac("sha256", secret)
    .update(`${method}\n${path}\n${fields.join(";")}\n`)
    .update(body)
    .digest();
}

export const contentful: Scheme = {
  isClaimed: (headers) => headers.getAll(contentfulHeaders.signature).length > 0,
  verify(secret, message, now) {
    const { headers } = message;
    const found = readSingle(headers, contentfulHeaders.signature);
    if ("wrong" in found) return found.wrong;
    const list = readSingle(headers, contentfulHeaders.names);
    if ("wrong" in list) return list.wrong;
    const time = readSingle(headers, contentfulHeaders.time);
    if ("wrong" in time) return time.wrong;
    const stale = checkStaleness(
      /^[0-9]{1,15}$/.test(time.value) ? Number(time.value) : Number.NaN,
      now,
      contentfulToleranceSeconds,
    );
    if (stale) return stale;
    const names = list.value.split(",").map((name) => name.trim().toLowerCase());
    if (!names.includes(contentfulHeaders.time)) return "the timestamp is not signed";
    const fields: string[] = [];
    for (const name of names.toSorted(byText)) {
      const value = readSingle(headers, name);
      if ("wrong" in value) return value.wrong;
      fields.push(`${name}:${value.value.trim()}`);
    }
    return isSame(found.value, "hex", contentfulDigest(secret, message, fields))
      ? undefined
      : "the signature is another";
  },
  sign(sample) {
    const names = [contentfulHeaders.names, contentfulHeaders.time].join(",");
    const time = String(sample.now);
    const fields = [`${contentfulHeaders.names}:${names}`, `${contentfulHeaders.time}:${time}`];
    const signature = contentfulDigest(sample.secret, sample, fields).toString("hex");
    return {
      headers: {
        [contentfulHeaders.signature]: signature,
        [contentfulHeaders.names]: names,
        [contentfulHeaders.time]: time,
      },
    };
  },
};

/** GraphCMS (Hygraph): JSON of body, environment and time. */
function graphcmsDigest(secret: string, body: Buffer, environment: string, time: number): Buffer {
  const signed = JSON.stringify({ Body: body.toString(), EnvironmentName: environment, TimeStamp: time });
  return createHmac("sha256", secret).update(signed).digest();
}

export const graphcms: Scheme = {
  isClaimed: (headers) => headers.getAll("gcms-signature").length > 0,
  verify(secret, { headers, body }, now) {
    const found = readSingle(headers, "gcms-signature");
    if ("wrong" in found) return found.wrong;
    const [, signature, environment, time] = /^sign=([^,]+), ?env=([^,]*), ?t=([0-9]{1,15})$/.exec(found.value) ?? [];
    if (signature === undefined || environment === undefined) return "the header gcms-signature cannot be read";
    const stale = checkStaleness(Number(time), now, defaultToleranceSeconds);
    if (stale) return stale;
    const expected = graphcmsDigest(secret, body, environment, Number(time));
    return isSame(signature, "base64", expected) ? undefined : "the signature is another";
  },
  sign({ secret, body, now }) {
    const signature = graphcmsDigest(secret, body, "master", now).toString("base64");
    return { headers: { "gcms-signature": `sign=${signature}, env=master, t=${now}` } };
  },
};

/** The scheme and, signed with the rest, a time in the body's `webhookTimestamp` (milliseconds). */
export function withBodyTime(scheme: Scheme, toleranceSeconds: number): Scheme {
  return {
    ...scheme,
    async verify(secret, message, now) {
      const inSameWork = captureWork();
      const wrong = inSameWork(await scheme.verify(secret, message, now));
      if (wrong) return wrong;
      const { webhookTimestamp } = (parseJson(message.body) ?? {}) as { webhookTimestamp?: unknown };
      return checkStaleness(
        typeof webhookTimestamp === "number" ? webhookTimestamp : Number.NaN,
        now,
        toleranceSeconds,
      );
    },
    sign(sample) {
      const event = (parseJson(sample.body) ?? {}) as object;
      const body = Buffer.from(JSON.stringify({ ...event, webhookTimestamp: sample.now }));
      return { ...scheme.sign({ ...sample, body }), body };
    },
  };
}

/** Parses `body` as a JSON object; undefined if it is not one. */
export function parseJson(body: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
