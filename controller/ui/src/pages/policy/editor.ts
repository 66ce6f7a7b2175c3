/** The editor of policies: CodeMirror with YAML, completion by the policy's schema, and marks at lines. */

import { autocompletion, closeBrackets, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { $defs, properties } from '../../../../../policies/schema.json';
import { keyOf, keys, place, values, type Schema } from './completion';
import type { Mark } from './policy';

const ROOT = { $defs, properties } as unknown as Schema;

interface Options {
  /** An element with nothing in it. CodeMirror makes its styles as it goes, which the page's policy would refuse; those of
      a shadow root are no elements. */
  host: HTMLElement;
  text: string;
  label: string;
  /** Called when the text has changed; without it the text is only shown. */
  changed?: (text: string) => void;
}

const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--thread)' },
  { tag: tags.comment, color: 'var(--ink-3)' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: [tags.bool, tags.number, tags.keyword], color: 'var(--good)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--raised)', fontSize: '13px', maxHeight: '60vh' },
  '&.cm-focused': { outline: '2px solid var(--thread)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sheet)', color: 'var(--ink-2)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--thread-ground) !important',
  },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line-strong)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--thread)', color: 'var(--on-thread)' },
  // CodeMirror's own marks are data: URLs, which the page's policy refuses.
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lint-marker': { width: '0.7em', height: '0.7em', marginTop: '0.35em', borderRadius: '50%' },
  '.cm-lint-marker-error': { content: 'normal', backgroundColor: 'var(--bad)', borderRadius: '0' },
  '.cm-lint-marker-warning': { content: 'normal', backgroundColor: 'var(--warn)' },
  '.cm-completionInfo': { maxWidth: '360px', padding: '6px 8px' },
});

/** Make an editor in its host, and return it. Tab leaves it, as everywhere in the page. */
export function edit({ host, text, label, changed }: Options): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const state = EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(),
      yaml(),
      syntaxHighlighting(style),
      theme,
      indentUnit.of('  '),
      drawSelection(),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      ...(changed
        ? [
            history(),
            lintGutter(),
            bracketMatching(),
            closeBrackets(),
            highlightActiveLine(),
            autocompletion({ override: [complete] }),
            EditorView.domEventHandlers({ beforeinput: typeOver }),
            keymap.of([...defaultKeymap, ...historyKeymap]),
            EditorView.updateListener.of((update) => {
              if (update.docChanged) changed(update.state.doc.toString());
            }),
          ]
        : [EditorState.readOnly.of(true), keymap.of(defaultKeymap)]),
    ],
  });
  return new EditorView({ state, root, parent: root });
}

/** Show marks in an editor, and go to the first one. */
export function mark(view: EditorView, found: readonly Mark[]): void {
  view.dispatch(setDiagnostics(view.state, [...found]));
  const first = found[0];
  if (first)
    view.dispatch({
      selection: { anchor: first.from },
      effects: EditorView.scrollIntoView(first.from, { y: 'center' }),
    });
}

/** Replace the text of an editor. */
export function replace(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

/** Replace the selection by what is typed. Left to the browser, it would keep styles by attributes, which the page's policy
    refuses. */
function typeOver(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== 'insertText' || !event.data || view.composing || view.state.selection.main.empty)
    return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

function complete(context: CompletionContext): CompletionResult | null {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const word = /[\w./-]*$/.exec(before)?.[0] ?? '';
  if (word === '' && !context.explicit) return null;
  const lines = context.state.doc.toString().split('\n');
  const { way, there } = place([...lines.slice(0, line.number - 1), before], line.number - 1);
  const key = keyOf(before.replace(/^[\s-]*/, ''));
  const offers = key === null ? [...keys(ROOT, way, there), ...values(ROOT, way)] : values(ROOT, [...way, key]);
  return {
    from: context.pos - word.length,
    options: offers.map(({ label, kind, info }) => ({
      label,
      info,
      type: kind === 'key' ? 'property' : 'constant',
      apply: kind === 'key' ? `${label}: ` : label,
    })),
    validFor: /^[\w./-]*$/,
  };
}
