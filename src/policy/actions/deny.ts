import { f } from "../../schema/fields.ts";
import { defineAction, endWith } from "../language/action.ts";

export const deny = defineAction({
  type: "deny",
  phases: ["on_tcp_connect", "on_http_request"],
  doc: "Denies the request with a status and no body, or closes the connection.",
  config: { status_code: f.uint32("Status.", { min: 400, max: 599, default: 403 }) },
  terminating: "always",
  compile({ status_code: status }, { phase }) {
    const outcome =
      phase === "on_tcp_connect"
        ? endWith("denied", { by: "close" })
        : endWith(`denied with ${status}`, { by: "refusal", answer: { status, headers: {}, body: "" } });
    return { run: () => outcome };
  },
});
