/** Who reads along on a proxied connection, without touching its bytes. */
export interface StreamWatch {
  /** The service has taken the connection, after which bytes go to it. Not told where the agent is the service. */
  connected?(): void;
  /** Bytes on their way to the service; not to be changed. */
  fromServer(bytes: Buffer): void;
  /** Bytes on their way back. */
  fromService(bytes: Buffer): void;
  /** The connection is over; may be told twice. `error` when it was cut short. */
  ended(error?: Error): void;
}

/** Both read along. */
export function bothWatch(one: StreamWatch, other: StreamWatch): StreamWatch {
  return {
    connected() {
      one.connected?.();
      other.connected?.();
    },
    fromServer(bytes) {
      one.fromServer(bytes);
      other.fromServer(bytes);
    },
    fromService(bytes) {
      one.fromService(bytes);
      other.fromService(bytes);
    },
    ended(error) {
      one.ended(error);
      other.ended(error);
    },
  };
}
