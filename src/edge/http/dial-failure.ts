import type { ResponseRead } from "../../http1/read-response.ts";

/** Text with which the public agent SDKs respond when they cannot reach their upstream. */
const sdkText = Buffer.from("failed to dial backend:");
const ownCode = "8012";
const maxReasonBytes = 512;

/**
 * Whether the agent generated this 502 because it could not reach its service. Our agent sets `postern-agent-error`.
 * The SDKs only send the text in the body, which is recognised only if it arrives with the head.
 */
export function dialFailure(head: ResponseRead): boolean {
  const { fields } = head;
  if (fields.get("postern-agent-error") === ownCode) return true;
  return fields.bytes.subarray(head.end, head.end + sdkText.length).equals(sdkText);
}

/**
 * Returns our agent's error about its service, for the request's trace: visible ASCII, as far as it arrived with the
 * head.
 */
export function dialFailureReason(head: ResponseRead): string | undefined {
  const { bytes } = head.fields;
  const text = bytes.latin1Slice(head.end, Math.min(bytes.length, head.end + maxReasonBytes)).trim();
  return text !== "" && /^[\x20-\x7e]+$/.test(text) ? text : undefined;
}
