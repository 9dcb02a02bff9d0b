/** Values that objects of one kind and account have in common. */
export interface CommonValues {
  readonly kind: string;
  readonly account_id: string;
  /** JSON of the values. */
  readonly text: string;
  readonly values: readonly unknown[];
  /** Number of objects with these values. */
  uses: number;
}
