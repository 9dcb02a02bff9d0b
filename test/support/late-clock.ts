/** Loaded before a server (`--import`). Sets the server's clock ten minutes ahead of all others. */
const aheadMs = 10 * 60 * 1000;
const { now } = Date;

Date.now = () => now() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], made) =>
    Reflect.construct(target, args.length === 0 ? [target.now()] : args, made) as object,
});
