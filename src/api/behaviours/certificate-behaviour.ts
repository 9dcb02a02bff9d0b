import { tlsCertificate } from "../../resources/tls-certificate.ts";
import { behaviourOf } from "../objects/behaviour.ts";

/** Certificates that the server has obtained are not user configuration. */
export const certificateBehaviour = behaviourOf(tlsCertificate, {
  configured: (doc) => (doc.issued_at === null ? doc : undefined),
});
