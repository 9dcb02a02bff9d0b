/** Logout tokens of the team's identity provider. Each is accepted once, by one node, also across restarts. */
import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { LoginRefusal } from "../../identity/calls/identity.ts";
import { account } from "../../resources/account.ts";
import { usedMessage } from "../../resources/used-message.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface ToldLogOuts {
  /**
   * Runs `work` unless the token was already used. If `work` rejects, the provider may send the token again. Rejects
   * with `LoginRefusal` for a used token.
   */
  once(tokenId: string, untilMs: number, work: () => Promise<void>): Promise<void>;
}

export function makeToldLogOuts(store: Store, clock: Clock): ToldLogOuts {
  // The server's own account is the oldest one.
  const ownerId = (): string => Array.from(store.objects(new Set([account.name])), ({ id }) => id).sort()[0] ?? "";
  return {
    async once(tokenId, untilMs, work) {
      const accountId = ownerId();
      const key = hash("sha256", `console logout ${tokenId}`);
      const { result: claimed } = await store.write(systemWrite(accountId, "claimMessage", clock), (draft) =>
        draft.holder(accountId, "used message", key)
          ? undefined
          : draft.create(accountId, usedMessage.name, { key, until: formatTimestamp(untilMs) }),
      );
      if (!claimed) throw new LoginRefusal("login_used", "it was told before");
      try {
        await work();
      } catch (error) {
        await store.write(systemWrite(accountId, "forgetMessages", clock), (draft) => {
          const held = draft.get(accountId, usedMessage.name, claimed.id);
          if (held) draft.delete(held);
        });
        throw error;
      }
    },
  };
}
