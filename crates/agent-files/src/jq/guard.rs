//! Makes a filter stoppable: the syntax tree is rewritten so that every loop, and everything that can grow,
//! calls a counting step. When the budget is used up, the step halts the run, which no `try` catches.

use std::cell::RefCell;
use std::time::Instant;

use jaq_core::box_iter::box_once;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::native::{Fun, v};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};
use jaq_core::{Exn, Native, ValX, data};
use jaq_json::Val;

/// The kind of data of our filters.
pub(super) type JqData = data::JustLut<Val>;

const STEP: &str = "agentx_step";
const ADD: &str = "agentx_add";
const MUL: &str = "agentx_mul";
const OPERAND: &str = "$agentx_operand";

/// The part of a run's stack that may be used. The rest is for frames between two steps.
pub(super) const STACK: usize = 48 << 20;
pub(super) const STACK_USED: usize = 24 << 20;

/// The rest of a run's budget.
pub(super) struct JqBudget {
    pub(super) deadline: Instant,
    pub(super) steps: u64,
    pub(super) bytes: usize,
    pub(super) stack_base: usize,
}

/// The reason why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JqStop {
    Time = 1,
    Steps = 2,
    Depth = 3,
    Size = 4,
}

impl JqStop {
    pub(super) fn of(code: i32) -> Option<Self> {
        [Self::Time, Self::Steps, Self::Depth, Self::Size]
            .into_iter()
            .find(|stop| *stop as i32 == code)
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Time => "the filter was stopped: time limit reached",
            Self::Steps => "the filter was stopped: too many steps",
            Self::Depth => "the filter was stopped: recursion too deep",
            Self::Size => "the filter was stopped: a value is too large",
        }
    }
}

thread_local! {
    static BUDGET: RefCell<Option<JqBudget>> = const { RefCell::new(None) };
}

/// Gives this thread its budget.
pub(super) fn begin(budget: JqBudget) {
    BUDGET.with_borrow_mut(|place| *place = Some(budget));
}

/// Returns the current stack address, approximately.
pub(super) fn stack_here() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here).addr()
}

fn take(size: usize) -> Result<(), JqStop> {
    BUDGET.with_borrow_mut(|place| {
        let Some(budget) = place else { return Ok(()) };
        if budget.stack_base.abs_diff(stack_here()) > STACK_USED {
            return Err(JqStop::Depth);
        }
        if size > budget.bytes {
            return Err(JqStop::Size);
        }
        budget.steps = budget
            .steps
            .checked_sub(1 + size as u64 / 256)
            .ok_or(JqStop::Steps)?;
        if budget.steps.is_multiple_of(64) && Instant::now() > budget.deadline {
            budget.steps = 0;
            return Err(JqStop::Time);
        }
        Ok(())
    })
}

fn size(value: &Val) -> usize {
    match value {
        Val::TStr(bytes) | Val::BStr(bytes) => bytes.len(),
        Val::Arr(items) => items.len().saturating_mul(16),
        Val::Obj(map) => map.len().saturating_mul(32),
        Val::Null | Val::Bool(_) | Val::Num(_) => 0,
    }
}

fn step<'a>(value: Val) -> ValX<'a, Val> {
    take(size(&value))
        .map(|()| value)
        .map_err(|stop| Exn::halt(stop as i32))
}

fn add<'a>(left: Val, right: Val) -> ValX<'a, Val> {
    take(size(&left).saturating_add(size(&right))).map_err(|stop| Exn::halt(stop as i32))?;
    (left + right).map_err(Exn::from)
}

fn mul<'a>(left: Val, right: Val) -> ValX<'a, Val> {
    use jaq_std::ValT;
    let times = |text: &Val, count: &Val| {
        let count = count.as_f64().map_or(1.0, |count| count.clamp(0.0, 1e12));
        (size(text) as f64 * count) as usize
    };
    let product = match (&left, &right) {
        (Val::TStr(_) | Val::BStr(_), Val::Num(_)) => times(&left, &right),
        (Val::Num(_), Val::TStr(_) | Val::BStr(_)) => times(&right, &left),
        _ => size(&left).saturating_add(size(&right)),
    };
    take(product).map_err(|stop| Exn::halt(stop as i32))?;
    (left * right).map_err(Exn::from)
}

/// Returns the steps, as native filters. Sums take their right side first: jq counts the left one through
/// first.
pub(super) fn funs() -> impl Iterator<Item = Fun<JqData>> {
    let step = Native::<JqData>::new(|cv| box_once(step(cv.1)))
        .with_paths(|cv| box_once(step(cv.1.0).map(|value| (value, cv.1.1))))
        .with_update(|cv, update| match step(cv.1) {
            Ok(value) => update(value),
            Err(stop) => box_once(Err(stop)),
        });
    let add = Native::<JqData>::new(|mut cv| {
        let (left, right) = (cv.0.pop_var(), cv.0.pop_var());
        box_once(add(left, right))
    });
    let mul = Native::<JqData>::new(|mut cv| {
        let (left, right) = (cv.0.pop_var(), cv.0.pop_var());
        box_once(mul(left, right))
    });
    [(STEP, v(0), step), (ADD, v(2), add), (MUL, v(2), mul)].into_iter()
}

type T<'s> = Term<&'s str>;

fn stepped(term: T<'_>) -> T<'_> {
    let step = Term::Call(STEP, Vec::new());
    Term::BinOp(Box::new(term), BinaryOp::Pipe(None), Box::new(step))
}

/// Returns a definition whose every call is a step.
pub(super) fn definition(def: Def<&str>) -> Def<&str> {
    let step = Term::Call(STEP, Vec::new());
    let body = Term::BinOp(Box::new(step), BinaryOp::Pipe(None), Box::new(guard(def.body)));
    Def { body, ..def }
}

/// Returns the term with steps in it.
pub(super) fn guard(term: T<'_>) -> T<'_> {
    match term {
        Term::Id | Term::Num(_) | Term::Break(_) | Term::Var(_) => term,
        Term::Recurse => stepped(Term::Recurse),
        Term::Str(format, parts) => stepped(Term::Str(format, parts.into_iter().map(part).collect())),
        Term::Arr(items) => Term::Arr(items.map(|items| Box::new(stepped(guard(*items))))),
        Term::Obj(entries) => Term::Obj(
            entries
                .into_iter()
                .map(|(key, value)| (guard_key(key), value.map(guard)))
                .collect(),
        ),
        Term::Neg(inner) => Term::Neg(boxed(inner)),
        Term::BinOp(left, op, right) => binary(guard(*left), op, guard(*right)),
        Term::Label(name, inner) => Term::Label(name, boxed(inner)),
        Term::Fold(kind, source, target, rest) => Term::Fold(
            kind,
            Box::new(stepped(guard(*source))),
            pattern(target),
            rest.into_iter().map(guard).collect(),
        ),
        Term::TryCatch(inner, catch) => Term::TryCatch(boxed(inner), catch.map(boxed)),
        Term::IfThenElse(cases, other) => Term::IfThenElse(
            cases
                .into_iter()
                .map(|(condition, then)| (guard(condition), guard(then)))
                .collect(),
            other.map(boxed),
        ),
        Term::Def(defs, inner) => Term::Def(defs.into_iter().map(definition).collect(), boxed(inner)),
        Term::Call(name, args) => call(name, args.into_iter().map(guard).collect()),
        Term::Path(head, path) => Term::Path(boxed(head), guard_path(path)),
    }
}

/// Guards the keys of an object. A plain text stays as it is: `{"a"}` takes its value from its key.
fn guard_key(key: T<'_>) -> T<'_> {
    match key {
        Term::Str(format, parts) => Term::Str(format, parts.into_iter().map(part).collect()),
        other => guard(other),
    }
}

fn boxed(mut term: Box<T<'_>>) -> Box<T<'_>> {
    *term = guard(std::mem::take(&mut *term));
    term
}

fn part<'s>(part: StrPart<&'s str, T<'s>>) -> StrPart<&'s str, T<'s>> {
    match part {
        StrPart::Term(term) => StrPart::Term(guard(term)),
        other => other,
    }
}

fn call<'s>(name: &'s str, args: Vec<T<'s>>) -> T<'s> {
    let loops = name == "range" && args.len() == 3;
    let call = Term::Call(name, args);
    if loops { stepped(call) } else { call }
}

fn binary<'s>(left: T<'s>, op: BinaryOp<&'s str>, right: T<'s>) -> T<'s> {
    match op {
        BinaryOp::Math(Math::Add) => Term::Call(ADD, vec![right, left]),
        BinaryOp::Math(Math::Mul) => Term::Call(MUL, vec![right, left]),
        BinaryOp::UpdateMath(Math::Add) => update(ADD, left, right),
        BinaryOp::UpdateMath(Math::Mul) => update(MUL, left, right),
        BinaryOp::Pipe(Some(target)) => Term::BinOp(
            Box::new(stepped(left)),
            BinaryOp::Pipe(Some(pattern(target))),
            Box::new(right),
        ),
        op => Term::BinOp(Box::new(left), op, Box::new(right)),
    }
}

/// `left += right` is `right as $x | left |= . + $x`.
fn update<'s>(name: &'static str, left: T<'s>, right: T<'s>) -> T<'s> {
    let sum = Term::Call(name, vec![Term::Var(OPERAND), Term::Id]);
    let assign = Term::BinOp(Box::new(left), BinaryOp::Update, Box::new(sum));
    let bind = BinaryOp::Pipe(Some(Pattern::Var(OPERAND)));
    Term::BinOp(Box::new(stepped(right)), bind, Box::new(assign))
}

fn pattern(target: Pattern<&str>) -> Pattern<&str> {
    match target {
        Pattern::Var(name) => Pattern::Var(name),
        Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(pattern).collect()),
        Pattern::Obj(entries) => Pattern::Obj(
            entries
                .into_iter()
                .map(|(key, value)| (guard_key(key), pattern(value)))
                .collect(),
        ),
    }
}

fn guard_path<'s>(path: Path<T<'s>>) -> Path<T<'s>> {
    let parts = path.0.into_iter().map(|(part, opt)| {
        let part = match part {
            Part::Index(Term::Str(format, parts)) => Part::Index(guard_key(Term::Str(format, parts))),
            Part::Index(index) => Part::Index(guard(index)),
            Part::Range(from, to) => Part::Range(from.map(guard), to.map(guard)),
        };
        (part, opt)
    });
    Path(parts.collect())
}
