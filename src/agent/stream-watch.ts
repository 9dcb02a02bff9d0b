/** Observes a proxied connection without changing its bytes. */
export interface StreamWatch {
  /** The service has accepted the connection, and bytes to it follow. Not called if the agent itself is the service. */
  connected?(): void;
  /**
   * Bytes on their way to the service. Must not be modified.
   * @param at monotonic time, if the caller already has it
   */
  fromServer(bytes: Buffer, at?: number): void;
  /**
   * Bytes on their way back.
   * @param at as for `fromServer`
   */
  fromService(bytes: Buffer, at?: number): void;
  /** The connection has ended. May be called twice. `error` is set if it was cut. */
  ended(error?: Error): void;
}

/** Combines two watches. */
export function combineWatches(one: StreamWatch, other: StreamWatch): StreamWatch {
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
