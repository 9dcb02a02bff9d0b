/** Shared by everything that has no bytes to pass on. */
export const noBytes = Buffer.alloc(0);
