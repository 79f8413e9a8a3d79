"""The ACL interface outside a capture: memory, tasks, refusals, settings, prototypes."""

from __future__ import annotations

import pytest
from acl_process import check

from opkit.cann.wheels import find_wheel

pytestmark = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]


def test_fresh_memory_is_poisoned_and_freed_once() -> None:
    check(
        """
        data = made("aclrtMalloc", ctypes.c_size_t(16), 0)
        assert data.value % 512 == 0 and read(data, 16) == [255] * 16
        assert s.is_device_memory(data.value, 16) and not s.is_device_memory(data.value, 17)
        assert acl.aclrtFree(data) == 0 and acl.aclrtFree(data) != 0
        assert not s.is_device_memory(data.value, 1)
        """
    )


def test_device_memory_is_as_large_as_asked_for() -> None:
    check(
        """
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        big = made("aclrtMalloc", ctypes.c_size_t(3 << 20), 0)
        assert acl.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total)) == 0
        assert total.value == 4 << 20 and free.value == 1 << 20, (total, free)
        out = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(2 << 20), 0) == 207001
        assert "OPKIT_DEVICE_MEMORY_GIB" in error()
        acl.aclrtFree(big)
        assert acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(2 << 20), 0) == 0
        """,
        OPKIT_DEVICE_MEMORY_GIB="0.00390625",
    )


def test_mapped_memory_works_and_is_forgotten_when_unmapped() -> None:
    check(
        """
        n = 2 << 20
        at = ctypes.c_void_p()
        size, zero = ctypes.c_size_t(n), ctypes.c_size_t(0)
        assert acl.aclrtReserveMemAddress(ctypes.byref(at), size, zero, None, 0) == 0
        part = made("aclrtMallocPhysical", ctypes.c_size_t(n), None, ctypes.c_uint64(0))
        assert acl.aclrtMapMem(at, ctypes.c_size_t(n), ctypes.c_size_t(0), part, ctypes.c_uint64(0)) == 0
        assert read(at, 4) == [255] * 4 and s.is_device_memory(at.value, n)
        assert acl.aclrtUnmapMem(at) == 0 and not s.is_device_memory(at.value, 1)
        assert acl.aclrtFreePhysical(part) == 0 and acl.aclrtReleaseMemAddress(at) == 0
        """
    )


def test_what_is_not_implemented_says_so_by_name() -> None:
    check(
        """
        assert acl.aclrtMemUceRepair(0, None, 0) == 207000
        assert error() == "opkit stand-in: aclrtMemUceRepair: not implemented" and error() == ""
        hccl = ctypes.CDLL("libhccl.so"); assert hccl.HcclAllReduce() == 5
        assert acl.aclprofCreateConfig() == 0
        names = ["aclrtMemUceRepair", "HcclAllReduce", "aclprofCreateConfig"]
        assert refusals() == [(name, 207000) for name in names]
        """
    )


def test_versions_and_socs_are_what_the_settings_say() -> None:
    check(
        """
        import json
        from opkit.cann.settings import SOCS
        acl.aclrtGetSocName.restype = ctypes.c_char_p
        assert acl.aclrtGetSocName() == b"Ascend310P3" == s.soc.encode()
        s._library.opkit_soc_names.restype = ctypes.c_char_p
        assert sorted(json.loads(s._library.opkit_soc_names())) == sorted(SOCS)
        text = ctypes.create_string_buffer(256)
        assert acl.aclsysGetVersionStr(b"runtime", text) == 0 and text.value == b"8.3.RC1"
        count = ctypes.c_uint32(); acl.aclrtGetDeviceCount(ctypes.byref(count)); assert count.value == 3
        assert acl.aclrtSetDevice(2) == 0 and acl.aclrtSetDevice(3) == 107001
        """,
        OPKIT_SOC="310P",
        OPKIT_CANN="8.3.RC1",
        OPKIT_DEVICES="3",
    )


def test_prototypes_are_refused_unless_well_formed() -> None:
    check(
        """
        s.define_ir("MyOp", [("x", "required")], [("z", "required")], [("attr1", "VT_FLOAT")])
        define = s._library.opkit_ir_define
        bad = ('', '{}', '{"op":"A"', '{"op":"A","inputs":[["x"]]}', '{"op":"A","more":[]}', '{"op":"A"} x')
        for text in map(str.encode, bad):
            assert define(text) == 107000, text
        """
    )


def test_what_a_task_submits_elsewhere_keeps_that_stream_s_order() -> None:
    check(
        """
        gate, blocked, free = made("aclrtCreateEventExWithFlag", 0x20), stream(), stream()
        a, b, c = device([1]), device([2]), device([0])
        def run(tokens):
            assert copy(c, b, 1, blocked) == 0       # behind the copy that waits
            assert copy(a, b, 1, free) == 0          # on its own stream: at once
            assert read(a, 1) == [2] and read(c, 1) == [0]
            return 1, None
        s.set_task_runner(run)
        assert acl.aclrtStreamWaitEvent(blocked, gate) == 0 and copy(c, a, 1, blocked) == 0
        s.launch("mine", 1, free.value)
        acl.aclrtMemcpy(a, 1, bytes([9]), 1, 1)
        acl.aclrtRecordEvent(gate, free)
        assert read(c, 1) == [2], read(c, 1)
        """
    )
