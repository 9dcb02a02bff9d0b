import { tlsCertificate } from "../../resources/tls-certificate.ts";
import { behaviourOf } from "../objects/behaviour.ts";

/** What the server has obtained by itself is not configured by anybody. */
export const certificateBehaviour = behaviourOf(tlsCertificate, {
  configured: (doc) => (doc.issued_at === null ? doc : undefined),
});
