/** Compaction: its dry run first, then written, reviewed, or left. */

import * as vscode from 'vscode';
import type { CompactionPreview, CompactParams, CompactResult, EntryId } from '../model/wire';
import { MAIN } from '../model/rows';
import type { SessionModel } from '../model/session';
import { asFailure } from '../rpc/failure';
import { compactionLines, compactionPage, refusedPage, writer } from '../texts/compaction';
import { formatTokens, wholePercent } from '../texts/figures';
import { cleanLine, cleanText, cut, withoutIcons } from '../texts/plain';
import { operationText } from '../texts/status';
import { showPreview } from '../views/documents';
import { checkStillAt, modelOf, say, withProgress, type Command, type Desk } from './tools';

type Choice = 'write' | 'lent' | 'review' | 'instructions' | 'extract' | 'input';

/** Shows the dry run, with the cut drawn in the tree, and does what is chosen. */
export const compact: Command = async (desk) => {
  const model = modelOf(desk);
  if (model.operation) {
    say(`${operationText(model.operation)}; Cancel Operation ends it.`);
    return;
  }
  // What is looked at: while one thinks another client may go elsewhere.
  const { leaf } = model;
  const preview = await previewOf(desk, model);
  if (!preview) {
    return;
  }
  const lines = compactionLines(preview, model.size, model.level(MAIN)?.rows ?? []);
  void desk.tree.showCut(preview.kept);
  try {
    await showPreview(desk.documents.add('Compaction, dry run', compactionPage(lines)));
    const choice = await choose(desk, preview);
    if (choice !== undefined) {
      checkStillAt(desk, model);
      await act(desk, choice, leaf);
    }
  } finally {
    void desk.tree.showCut([]);
  }
};

/** The dry run; where none would help, its page says why. */
async function previewOf(
  desk: Desk,
  model: SessionModel,
): Promise<CompactionPreview | null | undefined> {
  try {
    return (await model.request('session/compact', { dryRun: true })).preview;
  } catch (error) {
    const { kind, message } = asFailure(error);
    if (kind !== 'NothingToCompact' && kind !== 'CannotShrink') {
      throw error;
    }
    await showPreview(desk.documents.add('Compaction, dry run', refusedPage(message, model.size)));
    say(cleanLine(message));
    return undefined;
  }
}

async function choose(desk: Desk, preview: CompactionPreview): Promise<Choice | undefined> {
  const by = writer(preview);
  const items: (vscode.QuickPickItem & { choice: Choice })[] =
    by === undefined
      ? [{ choice: 'extract', label: 'Compact with an extract', description: 'without a model' }]
      : [
          { choice: 'write', label: 'Compact', description: `by ${withoutIcons(by)}` },
          { choice: 'review', label: 'Review the summary first', description: 'nothing is stored' },
          { choice: 'instructions', label: 'Compact with own instructions…' },
        ];
  if (desk.lender.isOn) {
    // Where nobody else is set up it comes first.
    const lent: (typeof items)[number] = {
      choice: 'lent',
      label: 'Compact with a model of this editor',
    };
    items.splice(by === undefined ? 0 : items.length, 0, lent);
  }
  items.push({ choice: 'input', label: 'View what the summarizer would read' });
  const name = withoutIcons(nameOf(modelOf(desk)));
  const sizes = `${formatTokens(preview.tokensBefore)} → ~${formatTokens(preview.tokensAfter)}`;
  const chosen = await vscode.window.showQuickPick(items, {
    title: `Compact ${name}: a dry run, nothing is changed`,
    placeHolder: `${sizes}; ${withoutIcons(cleanLine(preview.noSummarizer ?? 'Escape leaves it'))}`,
    ignoreFocusOut: true,
  });
  return chosen?.choice;
}

function nameOf(model: SessionModel): string {
  return cut(cleanLine(model.info?.name ?? 'the session'), 30);
}

async function act(desk: Desk, choice: Choice, baseLeaf: EntryId | null): Promise<void> {
  switch (choice) {
    case 'write':
      return write(desk, { baseLeaf });
    case 'lent':
      return write(desk, { baseLeaf, summarizer: 'client' });
    case 'extract':
      return write(desk, { baseLeaf, summarizer: 'extract' });
    case 'review':
      return review(desk);
    case 'input':
      return viewInput(desk);
    case 'instructions': {
      const model = modelOf(desk);
      const given = await vscode.window.showInputBox({ prompt: 'Instructions for the summary' });
      checkStillAt(desk, model);
      return given ? write(desk, { baseLeaf, customInstructions: given }) : undefined;
    }
  }
}

async function write(desk: Desk, how: Omit<CompactParams, 'session'>): Promise<void> {
  const model = modelOf(desk);
  const answer = await withProgress(desk, 'Compacting', (signal) =>
    model.request('session/compact', how, signal),
  );
  say(`Compacted${shrunk(answer, model.size?.window ?? null)}.`);
}

function shrunk(answer: CompactResult, window: number | null): string {
  const { tokensBefore, tokensAfter } = answer;
  if (tokensBefore == null || tokensAfter == null) {
    return '';
  }
  const shown = (tokens: number) =>
    window === null ? formatTokens(tokens) : `${wholePercent((tokens * 100) / window)}%`;
  return `, ${shown(tokensBefore)} → ~${shown(tokensAfter)}`;
}

/** Has the summary written into an untitled document; only sending that compacts. */
async function review(desk: Desk): Promise<void> {
  const model = modelOf(desk);
  const { leaf } = model;
  const answer = await withProgress(desk, 'Writing the summary', (signal) =>
    model.request('session/compact', { dryRun: 'summary' }, signal),
  );
  const { draft } = answer;
  const { server } = desk.connection;
  const epoch = model.info?.epoch;
  /** A draft went with its daemon, and with nothing else; at the same leaf the next cuts the same. */
  const isLost = (error: unknown) =>
    isOfDraft(error) &&
    desk.connection.server !== server &&
    modelOf(desk).info?.epoch !== epoch &&
    answer.leaf === leaf;
  let baseLeaf = model.leaf;
  const send = async (summary: string) => {
    checkStillAt(desk, model);
    try {
      await write(desk, { summary, baseLeaf, ...(draft == null ? {} : { draft }) });
    } catch (error) {
      if (isLost(error)) {
        await write(desk, { summary, baseLeaf: leaf });
        return;
      }
      // Said once; whoever sends it again goes on from where the leaf is now.
      baseLeaf = modelOf(desk).leaf;
      throw error;
    }
  };
  await desk.drafts.openSummary(`Summary of ${nameOf(model)}`, answer.summary ?? '', send);
  say('Compact with This Summary stores it; closing it leaves everything as it is.');
}

/** Whether what a summary was written for is not kept any more, or is out of date. */
function isOfDraft(error: unknown): boolean {
  const { kind, data } = asFailure(error);
  return kind === 'InvalidParams' && data.path === 'draft';
}

async function viewInput(desk: Desk): Promise<void> {
  const params = { dryRun: true as const, withInput: true };
  const { preview } = await modelOf(desk).request('session/compact', params);
  const texts = (preview?.inputs ?? []).map(
    (input) => `# ${input.kind}\n\n${cleanText(input.text)}\n`,
  );
  await showPreview(desk.documents.add('Input of the summarizer', texts.join('\n')), true);
}

/** Ends what runs here, whoever began it. */
export const cancel: Command = async (desk) => {
  const model = modelOf(desk);
  const { cancelled } = await model.request('session/cancel', {});
  if (!cancelled) {
    say('Nothing runs here.');
  }
};
