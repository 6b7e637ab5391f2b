import assert from 'node:assert/strict';
import { describe, it } from 'mocha';

describe('what is wrong', () => {
  it('is told with both sides', () => assert.equal('as it is', 'as it should be'));

  it('and the rest goes on', () => assert.ok(true));
});
