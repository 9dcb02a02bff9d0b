/** A typed client for Postern's management API. */
export { answerOf } from "./answers.ts";
export type { Answer } from "./answers.ts";
export type { CallOptions, ReadOptions } from "./call-options.ts";
export { Postern } from "./client.ts";
export { PosternConnectionError, PosternError } from "./errors.ts";
export { errorCodes } from "./generated/error-codes.ts";
export { operations } from "./generated/operations.ts";
export type * from "./generated/resources.ts";
export type * from "./generated/types.ts";
export type { Listing, Page } from "./listing.ts";
export type { Operation } from "./operation.ts";
export { makeSend } from "./transport.ts";
export type { Fetch, FetchAnswer, FetchInit, PosternOptions, Send } from "./transport.ts";
