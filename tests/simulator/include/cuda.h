// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of the CUDA driver's interface as Fanin uses.

enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_HANDLE = 400, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906 };
enum CUstreamCaptureStatus { CU_STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_ACTIVE };
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
