/** The certificate of a reserved domain: an uploaded one, or a policy by which the server obtains its own. */
import { inputRefusal } from "../operation/input-refusal.ts";
import type { Preparation } from "../objects/behaviour.ts";
import type { reservedDomain } from "../../resources/reserved-domain.ts";
import type { DocOf } from "../../schema/doc.ts";

type Domain = DocOf<typeof reservedDomain>;

/** The two exclude each other. Setting one clears the other. Setting both is rejected. */
export function settleCertificate({ doc, previous }: Pick<Preparation<Domain>, "doc" | "previous">): Domain {
  const { certificate_id: id, certificate_management_policy: policy } = doc;
  if (id === null || policy === null) return doc;
  const policyIsOld = JSON.stringify(previous?.doc.certificate_management_policy) === JSON.stringify(policy);
  const idIsOld = previous?.doc.certificate_id === id;
  // The server has obtained this certificate under the policy.
  if (policyIsOld && idIsOld) return doc;
  if (policyIsOld && !idIsOld) return { ...doc, certificate_management_policy: null };
  if (idIsOld && !policyIsOld) return { ...doc, certificate_id: null };
  const path = "certificate_management_policy";
  throw inputRefusal("reserved domain", [{ path, message: "must not be set together with certificate_id" }]);
}

/** Returns the domain without the certificate that the server has obtained under the policy. */
export function withoutObtained(doc: Domain): Domain {
  return doc.certificate_management_policy === null ? doc : { ...doc, certificate_id: null };
}
