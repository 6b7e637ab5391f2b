/** The values of the protocol that models and views are made from, under short names. */

import type { Change, Row, RowsWish } from '../rpc/protocol';

export type * from '../rpc/protocol';
export type TreeFilter = NonNullable<RowsWish['filter']>;
export type Origin = Change['origin'];
export type RowKind = Row['kind'];
export type RowFlag = Row['flags'][number];
export type Grade = 'ok' | 'warn' | 'high';
