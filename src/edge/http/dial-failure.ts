import type { ResponseRead } from "../../http1/read-response.ts";

/** What the public agent SDKs answer themselves, as text, when they cannot reach their upstream. */
const sdkText = Buffer.from("failed to dial backend:");
const ownCode = "8012";
const maxReasonBytes = 512;

/**
 * Whether a 502 is the agent's own, because it could not reach the service that it publishes. Our agent says so
 * in `postern-agent-error`; the SDKs only in the body, which comes with the head or is not recognised.
 */
export function dialFailure(head: ResponseRead): boolean {
  const { fields } = head;
  if (fields.get("postern-agent-error") === ownCode) return true;
  return fields.bytes.subarray(head.end, head.end + sdkText.length).equals(sdkText);
}

/** What our agent says about its service, for the request's trace: visible ASCII, as far as it came with the head. */
export function dialFailureReason(head: ResponseRead): string | undefined {
  const { bytes } = head.fields;
  const text = bytes.latin1Slice(head.end, Math.min(bytes.length, head.end + maxReasonBytes)).trim();
  return text !== "" && /^[\x20-\x7e]+$/.test(text) ? text : undefined;
}
