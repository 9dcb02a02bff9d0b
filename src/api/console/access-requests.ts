/** Requests of applications for access, which the console's page shows to the person (OAuth 2.1 §4.1.1). */
import { createSecretKey } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { clientAddress, codeRequestIn, maxState } from "../../identity/authorization/protocol.ts";
import type { CodeRequest, Parameters } from "../../identity/authorization/protocol.ts";
import { makeFlowSealer } from "../../identity/browser/flow-sealing.ts";
import type { FlowSealer } from "../../identity/browser/flow-sealing.ts";
import { openForPage, sealForPage } from "../../identity/machines/sealed.ts";
import type { Store } from "../../storage/store.ts";
import { clientKeyOf } from "../authorization/book.ts";
import { verifyClient } from "../authorization/clients.ts";
import type { MetadataDocuments } from "../authorization/metadata-documents.ts";

export interface AccessRequestsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Documents about clients, by their URL. */
  readonly documents: MetadataDocuments;
  /** Redirect URIs that the operator allows, besides those on the person's machine. */
  readonly redirectUris: readonly string[];
}

/** A verified request for access, sealed in the address of the console's page. */
export interface AccessRequest extends CodeRequest {
  readonly clientKey: string;
  readonly clientTitle: string;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly resource: string;
  readonly issuer: string;
}

export interface AccessRequests {
  /** Verifies a request. Returns the address of the consent page or of the client, or why the request is refused. */
  begin(parameters: Parameters, baseUrl: string): Promise<{ readonly location: string } | { readonly refused: string }>;
  /** Opens the sealed request of a page. Throws `Refusal` if it is too old or not of this server. */
  open(text: unknown): AccessRequest;
}

/** What applications may do. The first scope is the default. `write` includes `read`. */
export const applicationScopes = ["read", "write"] as const;
const purpose = "console applications";
/** In the place of an account, of which registrations at login hosts have one. */
export const registrationRealm = "console";
const registration = ["metadata", "dynamic"] as const;

export function makeAccessRequests({ store, clock, documents, redirectUris }: AccessRequestsOptions): AccessRequests {
  const sealer = (): FlowSealer => {
    const keys = store.derivedKeys(purpose);
    const made = makeFlowSealer();
    made.use(keys.map(({ id, key }, createdAt) => ({ id, key: createSecretKey(key), createdAt })));
    return made;
  };
  return {
    async begin(parameters, baseUrl) {
      const one = (name: string): string => parameters.get(name) ?? "";
      const resource = new URL(`${baseUrl}/mcp`).href;
      if (URL.parse(one("resource"))?.href !== resource) {
        return { refused: `the resource must be ${baseUrl}/mcp (RFC 8707)` };
      }
      const [clientId, redirectUri] = [one("client_id"), one("redirect_uri")];
      const asked = { name: "client", clientId, redirectUri, registration, clientIds: [], redirectUris } as const;
      const verdict = await verifyClient(registrationRealm, asked, documents, clientKeyOf(store));
      if (verdict.name !== "client") {
        return { refused: verdict.name === "refused" ? verdict.description : "the client could not be verified" };
      }
      const state = parameters.get("state");
      if (state !== undefined && state.length > maxState) {
        return { refused: `the state is longer than ${maxState} characters` };
      }
      const failed = (error: string, error_description: string) => ({
        location: clientAddress(redirectUri, { error, error_description, state, iss: baseUrl }),
      });
      const found = codeRequestIn(parameters, applicationScopes);
      if ("error" in found) return failed(found.error, found.description);
      const request: AccessRequest = {
        ...found,
        clientKey: verdict.key,
        clientTitle: verdict.title,
        redirectUri,
        state,
        resource,
        issuer: baseUrl,
      };
      const sealed = sealForPage(request, purpose, clock.now(), sealer());
      if (sealed === undefined) return failed("invalid_request", "state and redirect_uri are too long together");
      // The fragment is not sent to servers and appears in no log.
      return { location: `/#authorize=${sealed}` };
    },
    open(text) {
      const found = typeof text === "string" ? openForPage(text, purpose, clock.now(), sealer()) : undefined;
      if (!found) throw new Refusal("consent_lost");
      return found as AccessRequest;
    },
  };
}
