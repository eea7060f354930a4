//! The functions that run in a page, with an element as `this`. Their results are claims of the page: they
//! are shown to the model, and decide nothing.

/// Returns `null` if the middle of the element can be clicked, or a description of what lies above it.
pub(super) const COVERED_BY: &str = r#"function() {
  const e = this.nodeType === 1 ? this : this.parentElement;
  const r = e && e.getClientRects()[0];
  if (!r) return null;
  const at = e.getRootNode().elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
  if (!at || at === e || e.contains(at) || at.contains(e)) return null;
  const label = at.closest('label');
  if (label && label.control === e) return null;
  return at.tagName.toLowerCase() + ' "' + (at.innerText || '').trim().slice(0, 80) + '"';
}"#;

/// Puts the focus on a field and selects what the text replaces, or its end. Returns `text` if text can be
/// inserted, `set` if the value has to be set, and otherwise why neither can be done.
pub(super) const PREPARE_FIELD: &str = r#"function(clear) {
  const e = this.nodeType === 1 ? this : this.parentElement;
  if (e.disabled) return 'it is disabled';
  if (e.readOnly) return 'it is read only';
  const tag = e.tagName;
  if (tag === 'INPUT') {
    if (['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(e.type)) return 'set';
    if (['button', 'checkbox', 'file', 'hidden', 'image', 'radio', 'reset', 'submit'].includes(e.type))
      return 'it is a field of type ' + e.type;
  } else if (tag !== 'TEXTAREA' && !e.isContentEditable) {
    return 'it is not a field for text';
  }
  e.focus();
  if (e.isContentEditable) {
    const s = e.ownerDocument.getSelection();
    s.selectAllChildren(e);
    if (!clear) s.collapseToEnd();
  } else if (clear) {
    e.select();
  } else {
    try { e.setSelectionRange(e.value.length, e.value.length); } catch {}
  }
  return 'text';
}"#;

/// Sets the value of a field, as its own control does. Returns the value that it took.
pub(super) const SET_VALUE: &str = r#"function(value) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, value);
  this.dispatchEvent(new Event('input', {bubbles: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
  return this.value;
}"#;

/// Chooses options by their words or values. Returns the chosen words, or the problem.
pub(super) const CHOOSE_OPTIONS: &str = r#"function(wanted) {
  const e = this.nodeType === 1 && this.closest('select');
  if (!e) return {problem: 'it is not a field with options'};
  if (e.disabled) return {problem: 'it is disabled'};
  const words = o => (o.label || o.text).trim();
  const all = [...e.options].filter(o => !o.disabled);
  const chosen = [];
  for (const w of wanted) {
    const o = all.find(o => words(o) === w.trim()) || all.find(o => o.value === w);
    if (!o) return {problem: 'it has no option ' + JSON.stringify(w) + ', but: ' +
      all.slice(0, 50).map(words).map(w => JSON.stringify(w)).join(', ')};
    chosen.push(o);
  }
  if (chosen.length !== 1 && !e.multiple) return {problem: 'it takes exactly one option'};
  for (const o of e.options) o.selected = chosen.includes(o);
  e.dispatchEvent(new Event('input', {bubbles: true}));
  e.dispatchEvent(new Event('change', {bubbles: true}));
  return {chosen: chosen.map(words)};
}"#;
