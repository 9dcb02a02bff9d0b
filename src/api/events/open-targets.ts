/** Opens the targets of destinations with the clients that this server uses to reach them. */
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import { eventDestination } from "../../resources/event-destination.ts";
import { docOf } from "../../schema/doc.ts";
import type { StoredObject } from "../../storage/store.ts";
import { openTarget } from "./open-target.ts";
import type { OperatorKeys } from "./targets/operator-keys.ts";
import type { EventTarget } from "./targets/opened-target.ts";

export interface OpenTargetsOptions {
  readonly clock: Clock;
  /** Directory whose `events/` folder holds files, in a folder per account. */
  readonly dataDirectory: string;
  readonly allowPrivate: boolean;
  readonly ca?: string | undefined;
  readonly aws?: OperatorKeys | undefined;
}

export interface TargetOpener {
  open(destination: StoredObject): EventTarget;
  /** Closes what the targets share. Targets are closed individually. */
  close(): void;
}

export function makeTargetOpener({ clock, dataDirectory, allowPrivate, ca, aws }: OpenTargetsOptions): TargetOpener {
  const outbound = { purpose: "events", clock, ca, reach: allowPrivate ? "any" : "public" } as const;
  const operatorOutbound = openOutbound({
    ...outbound,
    ...(!allowPrivate && aws?.stsEndpoint !== undefined && { reach: "any_https" }),
  });
  return {
    open: (destination) =>
      openTarget(docOf(destination, eventDestination), {
        destinationId: destination.id,
        accountId: destination.account_id,
        outbound: openOutbound({ ...outbound, asker: destination.account_id }),
        operatorOutbound,
        aws,
        directory: join(dataDirectory, "events", destination.account_id),
      }),
    close: () => operatorOutbound.close(),
  };
}
