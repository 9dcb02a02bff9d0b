/** Who reads along on a proxied connection, without touching its bytes. */
export interface StreamWatch {
  /** The service has taken the connection, after which bytes go to it. Not told where the agent is the service. */
  connected?(): void;
  /** Bytes on their way to the service; not to be changed. @param at monotonic, where it is known already */
  fromServer(bytes: Buffer, at?: number): void;
  /** Bytes on their way back. @param at as for `fromServer` */
  fromService(bytes: Buffer, at?: number): void;
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
    fromServer(bytes, at) {
      one.fromServer(bytes, at);
      other.fromServer(bytes, at);
    },
    fromService(bytes, at) {
      one.fromService(bytes, at);
      other.fromService(bytes, at);
    },
    ended(error) {
      one.ended(error);
      other.ended(error);
    },
  };
}
