/** Answers the edges' questions about grants for clients that are not browsers. */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { AuthorizationAnswer, AuthorizationQuestion } from "../../identity/machines/authorization-questions.ts";
import type { Store } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { registerClient, verifyClient } from "./clients.ts";
import { makeGrants } from "./grants.ts";
import { openMetadataDocuments } from "./metadata-documents.ts";

export interface AuthorizationBookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly allowLocal: boolean;
  readonly ca: string | undefined;
}

export interface AuthorizationBook extends EdgeObserver {
  stop(): void;
}

const keyKinds: ReadonlySet<string> = new Set(["login_key"]);

export function keepAuthorizations({ store, clock, log, allowLocal, ca }: AuthorizationBookOptions): AuthorizationBook {
  const grants = makeGrants(store, clock);
  const documents = openMetadataDocuments({ clock, allowLocal, ca });
  const answer = async (accountId: string, asked: AuthorizationQuestion): Promise<AuthorizationAnswer> => {
    switch (asked.name) {
      case "client":
        return await verifyClient(accountId, asked, documents, clientKeyOf(store));
      case "register":
        return registerClient(accountId, asked, clientKeyOf(store), clock.now());
      case "approve":
        return await grants.approve(accountId, asked);
      case "decline":
        return await grants.decline(accountId, asked);
      case "exchange":
        return await grants.exchange(accountId, asked);
      case "refresh":
        return await grants.refresh(accountId, asked);
      case "revoke":
        return await grants.revoke(accountId, asked);
    }
  };
  return {
    receive(message, line) {
      if (message.type !== "authorization_asked") return;
      const { call, accountId, question } = message;
      const done = answer(accountId, question).catch((error: unknown): AuthorizationAnswer => {
        log.warn("question about a grant not answered", { account: accountId, question: question.name, error });
        return { name: "refused", error: "temporarily_unavailable", description: "try again in a moment" };
      });
      runUnattended(
        "message",
        done.then((report) => line.send({ type: "authorization_answered", call, answer: report })),
      );
    },
    stop: () => documents.close(),
  };
}

/** Signs the registrations of clients. */
export function clientKeyOf(store: Store): string | undefined {
  for (const { doc } of store.objects(keyKinds)) if (doc["purpose"] === "client") return String(doc["key"]);
  return undefined;
}
