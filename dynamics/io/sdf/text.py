"""Texts of SDF's elements as numbers, flags and poses."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.parsing import NO_NUMBER, numbers

__all__ = ["child", "extended", "flag", "number", "pose_in", "text_of", "vector"]

Float = NDArray[np.float64]
#: libsdformat reads these, in any case.
FLAGS = {"true": True, "1": True, "false": False, "0": False}


def child(element: Element, path: str) -> Element | None:
    """First descendant of a path; tags may have prefixes, as ``drake:mimic``.

    Parameters
    ----------
    element : Element
    path : str

    Returns
    -------
    Element or None
    """
    found: Element | None = element
    for tag in path.split("/"):
        found = None if found is None else next((one for one in found if one.tag == tag), None)
    return found


def text_of(element: Element, path: str, default: str | None = None) -> str | None:
    """Text of a descendant without blanks around it; the default where it is missing or empty.

    Parameters
    ----------
    element : Element
    path : str
        Tags below the element, as ``inertia/ixx``.
    default : str, optional

    Returns
    -------
    str or None
    """
    found = child(element, path)
    text = "" if found is None else (found.text or "").strip()
    return text or default


def number(element: Element, path: str, default: float, label: str) -> float:
    """Finite number in a descendant.

    Parameters
    ----------
    element : Element
    path : str
    default : float
        Where it is missing or empty.
    label : str
        Whose it is.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If it is not a finite number.
    """
    text = text_of(element, path)
    return default if text is None else float(numbers(text, 1, f"{label}: <{path}>")[0])


def extended(element: Element, path: str, default: float, label: str) -> float:
    """Like `number`, but infinite ends of ranges are fine.

    Parameters
    ----------
    element : Element
    path : str
    default : float
    label : str

    Returns
    -------
    float
    """
    text = text_of(element, path)
    try:
        value = default if text is None else math.nan if NO_NUMBER.search(text) else float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"{label}: <{path}> must be a number, not {text!r}")
    return value


def vector(element: Element, path: str, default: str | None, label: str, count: int = 3) -> Float:
    """Vector in a descendant.

    Parameters
    ----------
    element : Element
    path : str
    default : str or None
        Text where it is missing; None if it must be there.
    label : str
    count : int, optional

    Returns
    -------
    ndarray of float, shape (count,)

    Raises
    ------
    ValueError
        If it is missing, or not so many finite numbers.
    """
    text = text_of(element, path, default)
    if text is None:
        raise ValueError(f"{label} has no <{path}>")
    return numbers(text, count, f"{label}: <{path}>")


def flag(element: Element, path: str, default: bool, label: str) -> bool:
    """Truth value in a descendant.

    Parameters
    ----------
    element : Element
    path : str
    default : bool
    label : str

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If it is neither true nor false.
    """
    text = text_of(element, path)
    if text is None:
        return default
    if text.lower() not in FLAGS:
        raise ValueError(f"{label}: <{path}> must be true or false, not {text!r}")
    return FLAGS[text.lower()]


def pose_in(element: Element, label: str) -> tuple[str, Pose]:
    """The <pose> of an element: the frame that it is relative to, "" by default, and the pose.

    Parameters
    ----------
    element : Element
    label : str

    Returns
    -------
    tuple of (str, Pose)

    Raises
    ------
    ValueError
        If its numbers are not those of its format.
    """
    pose = element.find("pose")
    if pose is None:
        return "", Pose()
    frame = (pose.get("relative_to") or pose.get("frame") or "").strip()
    text, label = (pose.text or "").strip(), f"{label}: <pose>"
    form = pose.get("rotation_format", "euler_rpy")
    if not text:
        return frame, Pose()
    if form == "quat_xyzw":
        values = numbers(text, 7, label)
        if not values[3:].any():
            raise ValueError(f"{label} has the quaternion 0")
        return frame, Pose(values[:3], rotation.normalized(values[[6, 3, 4, 5]]))
    if form != "euler_rpy":
        raise ValueError(f"{label} has the unknown rotation_format {form!r}")
    values = numbers(text, 6, label)
    degrees = pose.get("degrees", "false").strip().lower()
    turned = np.radians(values[3:]) if FLAGS.get(degrees, False) else values[3:]
    return frame, Pose(values[:3], rotation.from_rpy(turned))
