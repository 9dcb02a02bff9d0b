/** All webhook providers and their signature schemes (semantics, "Webhooks"). */
import { hmacScheme } from "./hmac.ts";
import type { Scheme } from "./scheme.ts";
import { snsScheme } from "./sns.ts";
import {
  basicCredentials,
  contentful,
  graphcms,
  mailgun,
  sendgrid,
  sharedTokenScheme,
  withBodyTime,
} from "./special.ts";
import { mailchimp, plivoMainV3, plivoV2, plivoV3, twilio } from "./url-signing.ts";

const base64 = { encoding: "base64" } as const;
const fiveMinutes = { toleranceSeconds: 300 } as const;
/** `t=…,v1=…` over time, dot, body. */
const timedPairs = { pairs: { timestamp: "t", signature: "v1" }, over: "{time}.{body}" } as const;
const timedPairsS = { pairs: { timestamp: "t", signature: "s" }, over: "{time}.{body}" } as const;

const facebook = [
  hmacScheme("x-hub-signature-256", { prefix: "sha256=" }),
  hmacScheme("x-hub-signature", { prefix: "sha1=", hash: "sha1" }),
];

const svixOptions = {
  ...base64,
  ...fiveMinutes,
  key: "base64",
  prefix: "v1,",
  separator: " ",
  over: "{id}.{time}.{body}",
} as const;
const svix = [
  hmacScheme("svix-signature", { ...svixOptions, id: "svix-id", timestamp: "svix-timestamp" }),
  hmacScheme("webhook-signature", { ...svixOptions, id: "webhook-id", timestamp: "webhook-timestamp" }),
];

const hubspotV3 = {
  ...base64,
  ...fiveMinutes,
  timestamp: "x-hubspot-request-timestamp",
  time: "milliseconds",
} as const;

function markOlder(scheme: Scheme): Scheme {
  return { ...scheme, isOlder: true };
}

/** Schemes by provider. The first one signs samples. A request passes if any scheme that it claims is valid. */
export const providers: Readonly<Record<string, readonly Scheme[]>> = {
  aftership: [hmacScheme("aftership-hmac-sha256", base64)],
  airship: [hmacScheme("x-ua-signature", { timestamp: "x-ua-timestamp", over: "{time}:{body}" })],
  alchemy: [hmacScheme("x-alchemy-signature")],
  autodesk: [hmacScheme("x-adsk-signature", { prefix: "sha1hash=", hash: "sha1" })],
  bitbucket: [hmacScheme("x-hub-signature", { prefix: "sha256=" })],
  bolt: [hmacScheme("x-bolt-hmac-sha256", base64)],
  box: ["primary", "secondary"].map((key) =>
    hmacScheme(`box-signature-${key}`, {
      ...base64,
      timestamp: "box-delivery-timestamp",
      time: "rfc3339",
      toleranceSeconds: 600,
      over: "{body}{time}",
    }),
  ),
  brex: svix,
  buildkite: [
    hmacScheme("x-buildkite-signature", {
      pairs: { timestamp: "timestamp", signature: "signature" },
      over: "{time}.{body}",
    }),
  ],
  calendly: [hmacScheme("calendly-webhook-signature", timedPairs)],
  castle: [hmacScheme("x-castle-signature", base64)],
  chargify: [hmacScheme("x-chargify-webhook-signature-hmac-sha-256")],
  circleci: [hmacScheme("circleci-signature", { pairs: { signature: "v1" } })],
  clearbit: [hmacScheme("x-request-signature", { prefix: "sha1=", hash: "sha1" })],
  clerk: svix,
  coinbase: [hmacScheme("x-cc-webhook-signature")],
  contentful: [contentful],
  docusign: Array.from({ length: 10 }, (_, at) => hmacScheme(`x-docusign-signature-${at + 1}`, base64)),
  dropbox: [hmacScheme("x-dropbox-signature")],
  facebook_graph_api: facebook,
  facebook_messenger: facebook,
  frameio: [
    hmacScheme("x-frameio-signature", {
      ...fiveMinutes,
      prefix: "v0=",
      timestamp: "x-frameio-request-timestamp",
      over: "v0:{time}:{body}",
    }),
  ],
  github: [hmacScheme("x-hub-signature-256", { prefix: "sha256=" })],
  gitlab: [sharedTokenScheme("x-gitlab-token")],
  go1: [hmacScheme("go1-signature", timedPairs)],
  graphcms: [graphcms],
  heroku: [hmacScheme("heroku-webhook-hmac-sha256", base64)],
  hostedhooks: [hmacScheme("hostedhooks-signature", timedPairsS)],
  hubspot: [
    hmacScheme("x-hubspot-signature-v3", { ...hubspotV3, over: "{method}{url}{body}{time}" }),
    hmacScheme("x-hubspot-signature-v3", { ...hubspotV3, over: "{method}{decodedUrl}{body}{time}" }),
    markOlder(hmacScheme("x-hubspot-signature", { plain: true, over: "{method}{url}{body}" })),
    markOlder(hmacScheme("x-hubspot-signature", { plain: true })),
  ],
  instagram: facebook,
  intercom: [hmacScheme("x-hub-signature", { prefix: "sha1=", hash: "sha1" })],
  jira: [hmacScheme("x-hub-signature", { prefix: "sha256=" })],
  launch_darkly: [hmacScheme("x-ld-signature")],
  linear: [withBodyTime(hmacScheme("linear-signature"), 60)],
  mailchimp: [mailchimp],
  mailgun: [mailgun],
  microsoft_teams: [hmacScheme("authorization", { ...base64, prefix: "HMAC ", key: "base64" })],
  modern_treasury: [hmacScheme("x-signature")],
  mongodb: [
    hmacScheme("endpoint-signature", { prefix: "sha256=" }),
    hmacScheme("x-hook-signature", { ...base64, hash: "sha1" }),
  ],
  mux: [hmacScheme("mux-signature", { ...timedPairs, ...fiveMinutes })],
  orb: [
    hmacScheme("x-orb-signature", {
      prefix: "v1=",
      timestamp: "x-orb-timestamp",
      time: "rfc3339",
      over: "v1:{time}:{body}",
    }),
  ],
  orbit: [hmacScheme("x-orbit-signature")],
  pagerduty: [hmacScheme("x-pagerduty-signature", { prefix: "v1=", separator: "," })],
  pinwheel: [hmacScheme("x-pinwheel-signature", { prefix: "v2=", timestamp: "x-timestamp", over: "v2:{time}:{body}" })],
  plivo: [plivoV3, plivoMainV3, markOlder(plivoV2)],
  pusher: [hmacScheme("x-pusher-signature")],
  sendgrid: [sendgrid],
  sentry: [hmacScheme("sentry-hook-signature")],
  shopify: [hmacScheme("x-shopify-hmac-sha256", base64)],
  signal_sciences: [hmacScheme("x-sigsci-signature")],
  slack: [
    hmacScheme("x-slack-signature", {
      ...fiveMinutes,
      prefix: "v0=",
      timestamp: "x-slack-request-timestamp",
      over: "v0:{time}:{body}",
    }),
  ],
  sns: [snsScheme()],
  sonatype: [hmacScheme("x-nexus-webhook-signature", { hash: "sha1" })],
  square: [
    hmacScheme("x-square-hmacsha256-signature", { ...base64, over: "{url}{body}" }),
    hmacScheme("x-square-signature", { ...base64, hash: "sha1", over: "{url}{body}" }),
  ],
  stripe: [hmacScheme("stripe-signature", { ...timedPairs, ...fiveMinutes })],
  svix,
  terraform: [hmacScheme("x-tfe-notification-signature", { hash: "sha512" })],
  tiktok: [hmacScheme("tiktok-signature", timedPairsS)],
  trendmicro_conformity: [hmacScheme("x-conformity-signature")],
  twilio: [twilio],
  twitter: [hmacScheme("x-twitter-webhooks-signature", { ...base64, prefix: "sha256=" })],
  typeform: [hmacScheme("typeform-signature", { ...base64, prefix: "sha256=" })],
  vmware: [basicCredentials],
  webex: [hmacScheme("x-spark-signature", { hash: "sha1" })],
  whatsapp: facebook,
  worldline: [hmacScheme("x-gcs-signature", base64)],
  xero: [hmacScheme("x-xero-signature", base64)],
  zendesk: [
    hmacScheme("x-zendesk-webhook-signature", {
      ...base64,
      timestamp: "x-zendesk-webhook-signature-timestamp",
      time: "rfc3339",
      over: "{time}{body}",
    }),
  ],
  zoom: [
    hmacScheme("x-zm-signature", { prefix: "v0=", timestamp: "x-zm-request-timestamp", over: "v0:{time}:{body}" }),
  ],
};

/** Whether the provider also signs in older forms. */
export function signsInOlderForms(provider: string): boolean {
  return (providers[provider] ?? []).some(({ isOlder }) => isOlder === true);
}

const aliases: Readonly<Record<string, string>> = {
  signalsciences: "signal_sciences",
  sonatype_nexus: "sonatype",
  vmware_workspace: "vmware",
};

/** Returns the provider with this name, in any case, or undefined. */
export function providerNamed(name: string): string | undefined {
  const lower = name.toLowerCase();
  const id = Object.hasOwn(aliases, lower) ? (aliases[lower] as string) : lower;
  return Object.hasOwn(providers, id) ? id : undefined;
}
